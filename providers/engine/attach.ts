import type { Duplex } from 'node:stream';
import type { AttachFacet, CallOptions, ContainerRef, ExecExit, ExecRequest, ExecSession } from '../contract/index.ts';
import type { Engine } from './engine.ts';
import { statusBehind } from './errors.ts';
import { DETACH_KEYS, notRunning } from './exec.ts';
import { hijack } from './hijack.ts';
import { SessionStreams } from './session-streams.ts';
import type { Sessions } from './sessions.ts';
import { findContainer, inspectContainer, noSuchContainer } from './units.ts';

/** For what the container answers to the last line of its input. */
const LAST_WORDS_MS = 150;
const EXIT_POLLS_MS = [5, 10, 20, 40, 80, 160, 320, 640];

/** Joins the streams of main processes. */
export class EngineAttach implements AttachFacet {
  readonly #engine: Engine;
  readonly #sessions: Sessions;

  constructor(engine: Engine, sessions: Sessions) {
    this.#engine = engine;
    this.#sessions = sessions;
  }

  /** Terminal or not is the container's own affair, whatever is asked for; so is whether it takes input. */
  async attach(ref: ContainerRef, request: Omit<ExecRequest, 'command'>, options: CallOptions): Promise<ExecSession> {
    const { calls, docker, context } = this.#engine;
    const found = await findContainer(this.#engine, ref, options);
    const details = found && (await inspectContainer(this.#engine, found.Id, options));
    if (details === undefined) throw noSuchContainer(ref);
    if (!details.State.Running) throw notRunning(ref);
    const { Id: id } = details;
    const { Tty: terminal, OpenStdin, StdinOnce } = details.Config;
    const stdin = request.stdin && OpenStdin;
    const socket = await this.#open(ref, id, stdin, options);
    let detached = false;
    // Not closed over by the streams' constructor: the input cannot end before there is one.
    let detach = (): void => {};
    const onStdinEnd = (to: Duplex): void => {
      if (StdinOnce && !terminal) to.end();
      else detach();
    };
    const streams = new SessionStreams(socket, { terminal, ...(stdin ? { onStdinEnd } : {}) });
    detach = () => {
      // The end of input that others may still give closes nothing: it is a farewell (streaming.md, 8).
      void context.clock.sleep(LAST_WORDS_MS, options).then(
        () => {
          detached = true;
          streams.leave();
        },
        () => {}, // aborted, which ends more
      );
    };
    return this.#sessions.start(
      {
        streams,
        resize: ({ columns, rows }, call) =>
          calls.call('resize a terminal', call, (abortSignal) =>
            docker.getContainer(id).resize({ w: columns, h: rows, abortSignal }),
          ),
        exit: (call) => (detached ? Promise.resolve(LEFT) : this.#exit(id, call)),
        isOver: async (call) => (await inspectContainer(this.#engine, id, call))?.State.Running !== true,
      },
      options,
    );
  }

  async #open(ref: ContainerRef, id: string, stdin: boolean, options: CallOptions): Promise<Duplex> {
    const body = { stream: true, stdin, stdout: true, stderr: true, logs: false, detachKeys: DETACH_KEYS };
    try {
      return await hijack(
        this.#engine,
        { what: 'attach to a container', path: `/containers/${id}/attach?`, body },
        options,
      );
    } catch (error) {
      const status = statusBehind(error);
      throw status === 404 || status === 409 ? notRunning(ref, error) : error;
    }
  }

  /** A container that has closed its outputs and goes on leaves nothing to be attached to. */
  async #exit(id: string, options: CallOptions): Promise<ExecExit> {
    for (const waitMs of EXIT_POLLS_MS) {
      const details = await inspectContainer(this.#engine, id, options);
      if (details === undefined) return LEFT;
      if (!details.State.Running) return { type: 'exited', code: details.State.ExitCode };
      await this.#engine.context.clock.sleep(waitMs, options);
    }
    return LEFT;
  }
}

/** Nothing is known of the process, and nothing was wrong. */
const LEFT: ExecExit = { type: 'exited', code: 0 };
