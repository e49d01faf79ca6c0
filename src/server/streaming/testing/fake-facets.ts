import { type Duplex, duplexPair, PassThrough } from 'node:stream';
import {
  type AttachFacet,
  type CallOptions,
  type ContainerRef,
  type DialFacet,
  type DialTarget,
  type ExecExit,
  type ExecFacet,
  type ExecRequest,
  type ExecSession,
  type PodUid,
  ProviderError,
  type TerminalSize,
} from '../../../../providers/contract/index.ts';

/** A command whose other side is the test. */
export class FakeCommand implements ExecSession {
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  readonly sizes: TerminalSize[] = [];
  readonly exit: Promise<ExecExit>;
  readonly signal: AbortSignal;
  readonly ref: ContainerRef;
  readonly request: Partial<ExecRequest>;
  readonly #exit = Promise.withResolvers<ExecExit>();

  constructor(ref: ContainerRef, request: Partial<ExecRequest>, signal: AbortSignal) {
    this.ref = ref;
    this.request = request;
    this.signal = signal;
    this.exit = this.#exit.promise;
    signal.addEventListener('abort', () => {
      for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
      this.#exit.resolve({ type: 'failed', error: new Error('aborted') });
    });
  }

  resize(size: TerminalSize): void {
    this.sizes.push(size);
  }

  /** Writes to stdout until nobody takes it any more (or 1 GiB); how many bytes that were. */
  async writeUntilHeldBack(): Promise<number> {
    const block = Buffer.alloc(64 << 10);
    let written = 0;
    // Sockets move in real time: only when nothing was taken for a while it stands still.
    for (let quiet = 0; quiet < 50; quiet++) {
      while (this.stdout.writableLength < 1 << 20 && written < 1 << 30) {
        this.stdout.write(block);
        written += block.length;
        quiet = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return written;
  }

  end(exit: number | Error): void {
    this.stdout.end();
    this.stderr.end();
    this.#exit.resolve(typeof exit === 'number' ? { type: 'exited', code: exit } : { type: 'failed', error: exit });
  }
}

export class FakeExec implements ExecFacet, AttachFacet {
  readonly commands: FakeCommand[] = [];
  /** Runs as soon as a command is started. */
  script: (command: FakeCommand) => void = () => {};
  failure: Error | undefined;

  exec(ref: ContainerRef, request: ExecRequest, { signal }: CallOptions): Promise<ExecSession> {
    return this.#start(ref, request, signal);
  }

  attach(ref: ContainerRef, request: Omit<ExecRequest, 'command'>, { signal }: CallOptions): Promise<ExecSession> {
    return this.#start(ref, request, signal);
  }

  async #start(ref: ContainerRef, request: Partial<ExecRequest>, signal: AbortSignal): Promise<ExecSession> {
    if (this.failure !== undefined) throw this.failure;
    const command = new FakeCommand(ref, request, signal);
    this.commands.push(command);
    this.script(command);
    return command;
  }
}

/** Ports whose servers are the test; all others refuse. */
export class FakeDial implements DialFacet {
  readonly servers = new Map<number, (connection: Duplex) => void>();
  readonly dialled: DialTarget[] = [];

  async dial(_uid: PodUid, target: DialTarget): Promise<Duplex> {
    this.dialled.push(target);
    const server = this.servers.get(target.port);
    if (server === undefined) throw new ProviderError('ConnectionRefused', 'connect: connection refused');
    const [client, remote] = duplexPair({ allowHalfOpen: true });
    server(remote);
    return client;
  }
}
