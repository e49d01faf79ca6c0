import type { Writable } from 'node:stream';
import type { ExecExit, ExecSession, TerminalSize } from '../contract/index.ts';
import { abortError } from '../shared/abort-error.ts';
import { SessionOutput } from '../shared/session-output.ts';
import { FakeInput } from './input.ts';

export interface FakeSessionOptions {
  readonly terminal: boolean;
  readonly stdin: boolean;
  /** Of the call. */
  readonly signal: AbortSignal;
}

/** One command or attachment, without what it does. */
export class FakeSession implements ExecSession {
  readonly stdin?: Writable;
  readonly stdout: SessionOutput;
  readonly stderr?: SessionOutput;
  readonly exit: Promise<ExecExit>;
  readonly terminal: boolean;
  readonly input: FakeInput;
  /** The size that the terminal has now. */
  size: TerminalSize = { columns: 0, rows: 0 };
  readonly #end: (exit: ExecExit) => void;
  readonly #over = new AbortController();
  #room: () => void = () => {};

  constructor({ terminal, stdin, signal }: FakeSessionOptions) {
    const ended = Promise.withResolvers<ExecExit>();
    const onRoom = (): void => this.#room();
    this.terminal = terminal;
    this.#end = ended.resolve;
    this.exit = ended.promise;
    this.stdout = new SessionOutput(onRoom);
    if (!terminal) this.stderr = new SessionOutput(onRoom);
    this.input = new FakeInput({ terminal, onInterrupt: () => this.finish(130) });
    if (stdin) this.stdin = this.input.writable;
    else this.input.end();
    const onAbort = (): void => this.fail(abortError(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    void this.exit.then(() => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
  }

  /** Aborts when nothing more can come of the command. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  resize(size: TerminalSize): void {
    if (size.columns > 0 && size.rows > 0) this.size = size;
  }

  /** Resolves when there is room for more. */
  async write(stream: 'stdout' | 'stderr', data: Buffer | string): Promise<void> {
    this.put(stream, data);
    while (this.stdout.full || this.stderr?.full === true) {
      await new Promise<void>((resolve) => {
        this.#room = resolve;
      });
    }
  }

  put(stream: 'stdout' | 'stderr', data: Buffer | string): void {
    if (this.#over.signal.aborted) return;
    const bytes = this.terminal ? Buffer.from(data.toString().replaceAll('\n', '\r\n')) : Buffer.from(data);
    const output = stream === 'stderr' ? (this.stderr ?? this.stdout) : this.stdout;
    output.offer(bytes);
  }

  /** The command ended; the session does when its output has been read. */
  finish(code: number): void {
    this.finishAs({ type: 'exited', code });
  }

  finishAs(exit: ExecExit): void {
    if (this.#over.signal.aborted) return;
    this.#close();
    this.stdout.finish();
    this.stderr?.finish();
    void Promise.all([this.stdout.settled, this.stderr?.settled]).then(() => this.#end(exit));
  }

  /** The way to the command is broken. Nothing happens when it has ended and was read. */
  fail(error: Error): void {
    this.#end({ type: 'failed', error });
    this.#close();
    this.stdout.destroy(error);
    this.stderr?.destroy(error);
  }

  #close(): void {
    this.#over.abort();
    this.stdin?.destroy();
  }
}
