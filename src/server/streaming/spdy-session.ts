import type { Duplex } from 'node:stream';
import type { Clock } from '../../util/clock.ts';
import { protocolVersion } from './negotiation.ts';
import type { StreamOptions } from './options.ts';
import { ended, type RemoteSession, TerminalSizes } from './session.ts';
import { SpdyConnection } from './spdy/connection.ts';
import { RST, type SpdyStream } from './spdy/stream.ts';
import { statusText } from './status.ts';

const CREATION_MS = 30_000;

export interface SpdySessionOptions {
  /** As chosen. */
  readonly protocol: string;
  readonly streams: Omit<StreamOptions, 'type'>;
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
}

/**
 * Waits until the client has opened the streams that it asked for. Undefined: it did not within 30 s, or is gone.
 * The connection is upgraded already, and nothing has been sent since.
 */
export async function spdySession(
  socket: Duplex,
  head: Buffer,
  { protocol, streams, clock, idleTimeoutMs }: SpdySessionOptions,
): Promise<RemoteSession | undefined> {
  const version = protocolVersion(protocol);
  const gathered = new Gathering(expectedStreams(streams, version));
  const onStream = (stream: SpdyStream): void => gathered.add(stream);
  const connection = new SpdyConnection(socket, head, { clock, idleTimeoutMs, onStream });
  const { signal } = connection;
  const cancelTimer = clock.timer(CREATION_MS, () => gathered.giveUp());
  signal.addEventListener('abort', () => gathered.giveUp(), { once: true });
  const complete = await gathered.complete;
  cancelTimer();
  if (!complete) {
    // Only says goodbye; nobody waits for how that ends, and it never rejects.
    void connection.close();
    return undefined;
  }
  const [stdin, stdout, stderr] = [gathered.get('stdin'), gathered.get('stdout'), gathered.get('stderr')];
  const sizes = new TerminalSizes();
  gathered.get('resize')?.on('data', (bytes: Buffer) => sizes.push(bytes));
  // Nothing comes on these but the client's end of them.
  for (const output of [gathered.get('error'), stdout, stderr]) output?.resume();
  return {
    ...(stdin !== undefined && { stdin }),
    ...(stdout !== undefined && { stdout }),
    ...(stderr !== undefined && { stderr }),
    sizes,
    signal,
    async finish(status) {
      await ended(stdout);
      await ended(stderr);
      await ended(gathered.get('error'), statusText(status, version));
      await connection.close();
    },
  };
}

function expectedStreams(streams: SpdySessionOptions['streams'], version: number): ReadonlySet<string> {
  return new Set([
    'error',
    ...(streams.stdin ? ['stdin'] : []),
    ...(streams.stdout ? ['stdout'] : []),
    ...(streams.stderr ? ['stderr'] : []),
    ...(streams.tty && version >= 3 ? ['resize'] : []),
  ]);
}

/** Streams by their type, until all expected ones are there. */
class Gathering {
  readonly #expected: ReadonlySet<string>;
  readonly #streams = new Map<string, SpdyStream>();
  readonly #complete = Promise.withResolvers<boolean>();

  constructor(expected: ReadonlySet<string>) {
    this.#expected = expected;
  }

  /** False when it is not going to be. */
  get complete(): Promise<boolean> {
    return this.#complete.promise;
  }

  add(stream: SpdyStream): void {
    const type = stream.headers.get('streamtype') ?? '';
    if (this.#streams.has(type) || !(this.#expected.has(type) || type === 'resize')) {
      stream.reset(RST.refusedStream);
      return;
    }
    this.#streams.set(type, stream);
    stream.accept();
    // A terminal that the container has not: its sizes are of no use.
    if (!this.#expected.has(type)) stream.resume();
    if ([...this.#expected].every((name) => this.#streams.has(name))) this.#complete.resolve(true);
  }

  get(type: string): SpdyStream | undefined {
    return this.#expected.has(type) ? this.#streams.get(type) : undefined;
  }

  giveUp(): void {
    this.#complete.resolve(false);
  }
}
