import type { ContainerSpec, ContainerState, Labels, ObservedContainer, ProviderContext } from '../contract/index.ts';
import { LogBuffer } from './log-buffer.ts';
import type { FakeExecAnswer, FakeLogLine, FakeScript, FakeServer, FakeUse } from './schema.ts';

type Clock = ProviderContext['clock'];

export interface FakeExit {
  readonly exitCode: number;
  readonly signal?: number | undefined;
  readonly oomKilled?: boolean | undefined;
  readonly reason?: string;
  readonly message?: string | undefined;
}

export interface FakeContainerOptions {
  readonly id: string;
  readonly spec: ContainerSpec;
  readonly labels: Labels;
  /** Known once the image is there; a unit makes its containers before it pulls. */
  readonly imageId: () => string;
  readonly script: FakeScript;
  readonly clock: Clock;
  /** Called after every change of state. */
  readonly onChange: () => void;
}

const SIGKILL = 9;
const SIGTERM = 15;
const DEFAULT_USE: FakeUse = { cpuMilli: 10, memoryBytes: 2 ** 24 };

/** One incarnation of one container, playing its script. */
export class FakeContainer {
  readonly id: string;
  readonly spec: ContainerSpec;
  readonly labels: Labels;
  readonly log = new LogBuffer();
  readonly createdAt: Date;
  readonly #imageId: () => string;
  readonly #script: FakeScript;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  /** Ends whatever the script still waits for. */
  readonly #life = new AbortController();
  #state: ContainerState = { status: 'created' };
  #stopping = false;
  #servers: readonly FakeServer[] | undefined;
  #use: FakeUse;
  /** Used until `at`. */
  #cpu = { nanos: 0, at: 0 };
  /** Content of its message file. */
  #written: string | undefined;
  /** Of its input, what has no line end yet. */
  #line = '';

  constructor(options: FakeContainerOptions) {
    this.id = options.id;
    this.spec = options.spec;
    this.labels = options.labels;
    this.#imageId = options.imageId;
    this.#script = options.script;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    this.createdAt = new Date(options.clock.now());
    this.#use = options.script.use ?? DEFAULT_USE;
  }

  get use(): FakeUse {
    return this.#use;
  }

  /** From now on it uses this instead; what it has used so far stays. */
  set use(use: FakeUse) {
    this.#cpu = { nanos: this.cpuNanos, at: this.#clock.now() };
    this.#use = use;
  }

  /** Since its start. */
  get cpuNanos(): number {
    if (this.#state.status !== 'running') return this.#cpu.nanos;
    const since = Math.max(this.#cpu.at, this.#state.startedAt.getTime());
    // A core of a thousand parts uses a thousand nanoseconds per part and millisecond.
    return this.#cpu.nanos + (this.#clock.now() - since) * (this.#use.cpuMilli ?? 0) * 1000;
  }

  /** What lies at this path in it; only its message file is known. */
  file(path: string): string | undefined {
    return path === this.spec.terminationMessagePath ? (this.#written ?? '') : undefined;
  }

  get state(): ContainerState {
    return this.#state;
  }

  get startError(): string | undefined {
    return this.#script.startError;
  }

  /** Aborts when it ends, by itself or with its backend. */
  get ended(): AbortSignal {
    return this.#life.signal;
  }

  /** The last answer that is for this command, or for all. */
  execAnswer(command: readonly string[]): FakeExecAnswer | undefined {
    const text = command.join(' ');
    return this.#script.exec?.findLast((answer) => answer.command === undefined || answer.command === text);
  }

  /** What listens in it while it runs; of servers on one port the last counts. */
  get servers(): readonly FakeServer[] {
    if (this.#state.status !== 'running') return [];
    return this.#servers ?? this.#script.listen ?? [];
  }

  /** From now on these listen instead. */
  listen(servers: readonly FakeServer[]): void {
    this.#servers = servers;
  }

  /** Standard input of its process. */
  input(data: Buffer): void {
    if (this.#script.stdin !== 'echo' || this.#state.status !== 'running') return;
    const lines = (this.#line + data.toString()).split('\n');
    this.#line = lines.pop() ?? '';
    for (const line of lines) this.log.write(this.#clock.now(), 'stdout', line, false);
  }

  endInput(): void {
    if (this.#script.stdin !== 'echo' || this.#state.status !== 'running') return;
    if (this.#line !== '') this.log.write(this.#clock.now(), 'stdout', this.#line, true);
    this.exit({ exitCode: 0 });
  }

  /** Pod-level units show their containers before they can run. */
  wait(reason: string, message?: string): void {
    this.#set({ status: 'waiting', reason, ...(message === undefined ? {} : { message }) });
  }

  start(): void {
    if (this.#state.status === 'running' || this.#state.status === 'exited') return;
    const { startError, exitAfterMs, logs } = this.#script;
    if (startError !== undefined) {
      this.exit({ exitCode: 128, reason: 'StartError', message: startError });
      return;
    }
    this.#set({ status: 'running', startedAt: new Date(this.#clock.now()) });
    if (exitAfterMs === undefined && logs === undefined) return;
    this.#play(logs ?? [], exitAfterMs, () => this.#ownExit());
  }

  /** The stop signal, or with grace 0 the kill. A second signal changes nothing: the script reacts to the first. */
  stop(graceSeconds: number): void {
    if (this.#state.status === 'exited') return;
    if (graceSeconds <= 0 || this.#state.status !== 'running') {
      this.exit({ exitCode: 128 + SIGKILL, signal: SIGKILL });
      return;
    }
    if (this.#script.ignoreStop === true || this.#stopping) return;
    this.#stopping = true;
    const { stopAfterMs = 0, stopExitCode, stopLogs } = this.#script;
    this.#play(stopLogs ?? [], stopAfterMs, () =>
      this.exit(stopExitCode === undefined ? { exitCode: 128 + SIGTERM, signal: SIGTERM } : { exitCode: stopExitCode }),
    );
  }

  /** Ends it now, whatever the script says; also for tests ("killed outside"). */
  exit(exit: FakeExit): void {
    if (this.#state.status === 'exited') return;
    const startedAt = this.#state.status === 'running' ? this.#state.startedAt : undefined;
    this.#life.abort();
    this.log.end();
    this.#set({
      status: 'exited',
      exitCode: exit.exitCode,
      oomKilled: exit.oomKilled ?? false,
      finishedAt: new Date(this.#clock.now()),
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(exit.signal === undefined ? {} : { signal: exit.signal }),
      ...(exit.reason === undefined ? {} : { reason: exit.reason }),
      ...(exit.message === undefined ? {} : { message: exit.message }),
    });
  }

  /** Lets go of timers without a trace: the backend itself goes away. */
  dispose(): void {
    this.#life.abort();
    this.log.end();
  }

  observe(): ObservedContainer {
    return {
      name: this.spec.name,
      attempt: this.spec.attempt,
      id: this.id,
      image: this.spec.image,
      imageId: this.#imageId(),
      createdAt: this.createdAt,
      state: this.#state,
      labels: this.labels,
    };
  }

  #ownExit(): void {
    const { exitCode, signal, oomKilled, message } = this.#script;
    const killedBy = signal ?? (oomKilled === true ? SIGKILL : undefined);
    const hasFile = this.spec.terminationMessagePath !== undefined;
    if (hasFile) this.#written = message;
    this.exit({
      exitCode: exitCode ?? (killedBy === undefined ? 0 : 128 + killedBy),
      signal: killedBy,
      oomKilled,
      message: hasFile ? undefined : message,
    });
  }

  #play(lines: readonly FakeLogLine[], endMs: number | undefined, end: () => void): void {
    // Not awaited: the script runs beside its backend and only ever ends by itself or by #life.
    void this.#steps(lines, endMs, end).catch((error: unknown) => {
      if (!this.#life.signal.aborted) this.exit({ exitCode: 255, message: `broken script: ${String(error)}` });
    });
  }

  async #steps(lines: readonly FakeLogLine[], endMs: number | undefined, end: () => void): Promise<void> {
    const { signal } = this.#life;
    const begin = this.#clock.now();
    const until = async (atMs: number): Promise<void> => {
      const ms = begin + atMs - this.#clock.now();
      if (ms > 0) await this.#clock.sleep(ms, { signal });
    };
    for (const line of lines) {
      if (endMs !== undefined && line.afterMs > endMs) break;
      await until(line.afterMs);
      if (signal.aborted) return;
      this.log.write(this.#clock.now(), line.stream, line.text, line.partial);
    }
    if (endMs === undefined) return;
    await until(endMs);
    if (!signal.aborted) end();
  }

  #set(state: ContainerState): void {
    this.#state = state;
    this.#onChange();
  }
}
