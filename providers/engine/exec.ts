import type { CallOptions, ContainerRef, ExecFacet, ExecRequest, ExecSession } from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import type { Engine } from './engine.ts';
import { statusBehind } from './errors.ts';
import { execExit, hasRun, inspectExec } from './exec-exit.ts';
import { hijack } from './hijack.ts';
import { proveProcess, signalProven } from './proc.ts';
import { SessionStreams } from './session-streams.ts';
import type { Sessions } from './sessions.ts';
import { findContainer, noSuchContainer } from './units.ts';

/**
 * Keys that would make the engine let go of a terminal, as long and unlikely as it takes them; without any it takes ctrl-p ctrl-q,
 * which programs want for themselves.
 */
export const DETACH_KEYS = Array.from({ length: 8 }, () => 'ctrl-^,ctrl-]').join(',');

/** Runs commands in containers of the engine. */
export class EngineExec implements ExecFacet {
  readonly #engine: Engine;
  readonly #sessions: Sessions;

  constructor(engine: Engine, sessions: Sessions) {
    this.#engine = engine;
    this.#sessions = sessions;
  }

  async exec(ref: ContainerRef, request: ExecRequest, options: CallOptions): Promise<ExecSession> {
    const { calls, docker } = this.#engine;
    const containerId = await runningContainer(this.#engine, ref, options);
    const { tty, stdin } = request;
    const execId = await this.#create(ref, containerId, request, options);
    const onAbort = (): void => {
      // Nobody waits for it, and it never rejects.
      if (request.killOnAbort === true) void this.#kill(execId, containerId);
    };
    try {
      const socket = await hijack(
        this.#engine,
        { what: 'start a command', path: `/exec/${execId}/start`, body: { Detach: false, Tty: tty } },
        options,
      );
      let words: string | undefined;
      const streams = new SessionStreams(socket, {
        terminal: tty,
        // The engine takes the end of a terminal's input for a wish to see no more of it. A terminal has no end of input.
        ...(stdin ? { onStdinEnd: tty ? () => {} : (to) => to.end() } : {}),
        isEngineSpeaking: async (text) => {
          const info = await inspectExec(this.#engine, execId, options).catch(() => undefined);
          if (info === undefined || info.Running || hasRun(info)) return false;
          words = text;
          return true;
        },
      });
      return this.#sessions.start(
        {
          streams,
          resize: ({ columns, rows }, call) =>
            calls.call('resize a terminal', call, (abortSignal) =>
              docker.getExec(execId).resize({ w: columns, h: rows, abortSignal }),
            ),
          exit: (call) => execExit(this.#engine, { execId, containerId, ...(words && { words }) }, call),
          isOver: async (call) => (await inspectExec(this.#engine, execId, call))?.Running !== true,
          onAbort,
        },
        options,
      );
    } catch (error) {
      if (options.signal.aborted) onAbort();
      throw await this.#explained(ref, error, options);
    }
  }

  async #create(
    ref: ContainerRef,
    containerId: string,
    { command, tty, stdin }: ExecRequest,
    options: CallOptions,
  ): Promise<string> {
    const { calls, docker } = this.#engine;
    try {
      const made = await calls.call('create a command', options, (abortSignal) =>
        docker.getContainer(containerId).exec({
          Cmd: [...command],
          AttachStdin: stdin,
          AttachStdout: true,
          AttachStderr: !tty,
          Tty: tty,
          DetachKeys: DETACH_KEYS,
          abortSignal,
        }),
      );
      return made.id;
    } catch (error) {
      throw await this.#explained(ref, error, options);
    }
  }

  /** A container that stopped in between is not there any more, as far as commands are concerned. */
  async #explained(ref: ContainerRef, error: unknown, options: CallOptions): Promise<unknown> {
    const status = statusBehind(error);
    if (status !== 404 && status !== 409 && status !== 500) return error;
    const found = await findContainer(this.#engine, ref, options);
    return found?.State === 'running' || found?.State === 'paused' ? error : notRunning(ref, error);
  }

  /** The engine cannot end a command. We can, where its process is proven to be one of ours to see. */
  async #kill(execId: string, containerId: string): Promise<void> {
    const { context } = this.#engine;
    try {
      for (const waitMs of KILL_POLLS_MS) {
        const info = await inspectExec(this.#engine, execId, { signal: context.signal });
        const proven = info?.Running === true ? proveProcess(info.Pid, containerId) : undefined;
        if (proven !== undefined) signalProven(proven, 'SIGKILL');
        // A command that was only just starting when its session was aborted has no process yet.
        if (proven !== undefined || info === undefined || (!info.Running && hasRun(info))) return;
        await context.clock.sleep(waitMs, { signal: context.signal });
      }
    } catch (error) {
      context.log.debug({ err: error }, 'command of an aborted session was not killed');
    }
  }
}

const KILL_POLLS_MS = [20, 50, 100, 200, 400, 800];

/** The engine's id of the container. */
async function runningContainer(engine: Engine, ref: ContainerRef, options: CallOptions): Promise<string> {
  const found = await findContainer(engine, ref, options);
  if (found === undefined) throw noSuchContainer(ref);
  // Of a paused one the engine has its own words.
  if (found.State !== 'running' && found.State !== 'paused') throw notRunning(ref);
  return found.Id;
}

export function notRunning(ref: ContainerRef, cause?: unknown): ProviderError {
  const message = `container ${ref.container}#${ref.attempt} of pod ${ref.podUid} is not running`;
  return new ProviderError('NotFound', message, { cause });
}
