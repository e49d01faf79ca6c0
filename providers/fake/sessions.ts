import type {
  AttachFacet,
  CallOptions,
  ContainerRef,
  ExecFacet,
  ExecRequest,
  ExecSession,
  PodUid,
} from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import { envMap } from '../shared/env-map.ts';
import type { FakeBackend } from './backend.ts';
import { type FakePlace, runCommand } from './commands.ts';
import type { FakeContainer } from './container.ts';
import type { FakeMethod } from './faults.ts';
import type { FakePod } from './pod.ts';
import type { FakeExecAnswer } from './schema.ts';
import { FakeSession } from './session.ts';

export interface FakeSessionsOptions {
  readonly backend: FakeBackend;
  /** The pod if it is one of this node's; throws otherwise. */
  readonly existing: (uid: PodUid) => FakePod;
}

/** The exec and attach facets of both kinds. */
export class FakeSessions implements ExecFacet, AttachFacet {
  readonly #backend: FakeBackend;
  readonly #existing: (uid: PodUid) => FakePod;

  constructor({ backend, existing }: FakeSessionsOptions) {
    this.#backend = backend;
    this.#existing = existing;
  }

  exec(ref: ContainerRef, request: ExecRequest, options: CallOptions): Promise<ExecSession> {
    return this.#call('exec', ref, request.command.join(' '), options, () => {
      const { pod, container } = this.#running(ref);
      const session = this.#open({ ...request, terminal: request.tty }, options);
      const onEnd = (): void => session.finish(137);
      container.ended.addEventListener('abort', onEnd, { once: true });
      void session.exit.then(() => container.ended.removeEventListener('abort', onEnd));
      const place = {
        session,
        clock: this.#backend.clock,
        env: envMap(container.spec.env),
        hostname: pod.hostname,
      };
      const answer = this.#backend.execAnswer(ref, container, request.command);
      // A command ends by itself or with its session, and fails in no other way.
      void this.#run(request.command, place, answer).catch((error: unknown) => {
        if (!session.over.aborted) session.fail(error instanceof Error ? error : new Error(String(error)));
      });
      return session;
    });
  }

  attach(ref: ContainerRef, request: Omit<ExecRequest, 'command'>, options: CallOptions): Promise<ExecSession> {
    return this.#call('attach', ref, undefined, options, () => {
      const { container } = this.#running(ref);
      const { tty: terminal, stdin, stdinOnce } = container.spec.terminal;
      const session = this.#open({ terminal, stdin: request.stdin && stdin }, options);
      const stop = container.log.listen(
        ({ stream, line, partial }) => session.put(stream, Buffer.from(line).toString() + (partial ? '' : '\n')),
        () => {
          // The log ends just before the state says how.
          queueMicrotask(() => session.finish(container.state.status === 'exited' ? container.state.exitCode : 0));
        },
      );
      void session.exit.then(stop);
      if (session.stdin !== undefined) void this.#feed(session, container, stdinOnce && !terminal);
      return session;
    });
  }

  async #run(command: readonly string[], place: FakePlace, answer: FakeExecAnswer | undefined): Promise<void> {
    const { session, clock } = place;
    if (answer === undefined) {
      const running = runCommand(command, place);
      if (running !== undefined) session.finish(await running);
      else notStarted(session, `exec: "${command[0] ?? ''}": executable file not found in $PATH`);
      return;
    }
    const { startError, stdout, stderr, exitCode, afterMs } = answer;
    if (startError !== undefined) {
      notStarted(session, startError);
      return;
    }
    await session.write('stdout', stdout ?? '');
    await session.write('stderr', stderr ?? '');
    if (afterMs !== undefined && afterMs > 0) await clock.sleep(afterMs, { signal: session.over });
    session.finish(exitCode ?? 0);
  }

  async #feed(session: FakeSession, container: FakeContainer, endsInput: boolean): Promise<void> {
    for (let data = await session.input.read(); data !== undefined; data = await session.input.read()) {
      container.input(data);
    }
    if (session.over.aborted) return;
    if (endsInput) container.endInput();
    else session.finish(0);
  }

  #open(
    { terminal, stdin }: { readonly terminal: boolean; readonly stdin: boolean },
    { signal }: CallOptions,
  ): FakeSession {
    const session = new FakeSession({ terminal, stdin, signal });
    this.#backend.sessions.add(session);
    void session.exit.then(() => this.#backend.sessions.delete(session));
    return session;
  }

  #running(ref: ContainerRef): { readonly pod: FakePod; readonly container: FakeContainer } {
    const pod = this.#existing(ref.podUid);
    const container = pod.find(ref.container, ref.attempt);
    if (container === undefined) throw new ProviderError('NotFound', `no such container: ${named(ref)}`);
    if (container.state.status !== 'running')
      throw new ProviderError('NotFound', `container ${named(ref)} is not running`);
    return { pod, container };
  }

  #call<T>(
    method: FakeMethod,
    ref: ContainerRef,
    detail: string | undefined,
    options: CallOptions,
    work: () => T,
  ): Promise<T> {
    const call = { method, subject: `${ref.podUid}/${named(ref)}`, ...(detail === undefined ? {} : { detail }) };
    return this.#backend.faults.run(call, options, work);
  }
}

function named(ref: ContainerRef): string {
  return `${ref.container}#${ref.attempt}`;
}

function notStarted(session: FakeSession, message: string): void {
  session.finishAs({ type: 'failed', error: new ProviderError('Internal', message, { reason: 'StartError' }) });
}
