import type { Duplex } from 'node:stream';
import type { Clock } from '../../util/clock.ts';
import { parsePort } from './options.ts';
import { type ForwardTarget, forward } from './portforward.ts';
import { ended } from './session.ts';
import { SpdyConnection } from './spdy/connection.ts';
import { RST, type SpdyStream } from './spdy/stream.ts';

const CREATION_MS = 30_000;

const GONE = new Error('the client is gone');

interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  /** The client has been told of a stream too many: once is enough, and a client that reads nothing must not make us keep more. */
  complained?: true;
  readonly cancelTimer: () => void;
}

/**
 * Port-forward over SPDY, by itself or inside of a WebSocket: for each connection the client opens an error and a data stream
 * (reference 11.10). Resolves when the client's connection is over.
 */
export async function forwardOverSpdy(
  socket: Duplex,
  head: Buffer,
  target: ForwardTarget,
  { clock, idleTimeoutMs }: { readonly clock: Clock; readonly idleTimeoutMs: number },
): Promise<void> {
  const pairs = new Pairs(target, clock);
  const connection = new SpdyConnection(socket, head, {
    clock,
    idleTimeoutMs,
    onStream: (stream) => pairs.add(stream),
  });
  await connection.closed;
  pairs.close();
}

/** Data and error streams on their way to each other. */
class Pairs {
  readonly #target: ForwardTarget;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Pair>();
  readonly #forwarding = new Set<AbortController>();

  constructor(target: ForwardTarget, clock: Clock) {
    this.#target = target;
    this.#clock = clock;
  }

  add(stream: SpdyStream): void {
    const type = stream.headers.get('streamtype');
    const port = parsePort(stream.headers.get('port') ?? '');
    if ((type !== 'data' && type !== 'error') || typeof port === 'string' || port === 0) {
      stream.reset(RST.refusedStream);
      return;
    }
    const id = requestId(stream, type);
    const pair = this.#waiting.get(id) ?? this.#open(id);
    if (pair[type] !== undefined) {
      stream.reset(RST.refusedStream);
      if (pair.error === undefined || pair.complained) return;
      pair.complained = true;
      pair.error.write(`error processing stream for request ${id}: ${type} stream already assigned`);
      return;
    }
    pair[type] = stream;
    stream.accept();
    const { data, error } = pair;
    if (data === undefined || error === undefined) return;
    pair.cancelTimer();
    this.#waiting.delete(id);
    // Never rejects; what fails is told on the error stream.
    void this.#forward(data, error, port);
  }

  close(): void {
    for (const { cancelTimer } of this.#waiting.values()) cancelTimer();
    this.#waiting.clear();
    for (const controller of this.#forwarding) controller.abort(GONE);
  }

  #open(id: string): Pair {
    const pair: Pair = { cancelTimer: this.#clock.timer(CREATION_MS, () => this.#expire(id, pair)) };
    this.#waiting.set(id, pair);
    return pair;
  }

  #expire(id: string, { data, error }: Pair): void {
    this.#waiting.delete(id);
    data?.reset(RST.cancel);
    error?.resume().end(`(request=${id}) timed out waiting for streams`);
  }

  async #forward(data: SpdyStream, error: SpdyStream, port: number): Promise<void> {
    // Only the client's end of it comes.
    error.resume();
    const gone = new AbortController();
    this.#forwarding.add(gone);
    data.once('close', () => {
      // Finished in order: what the client has sent may still be on its way to the pod.
      if (!data.readableEnded || !data.writableFinished) gone.abort(GONE);
    });
    if (data.destroyed) gone.abort(GONE);
    const failure = await forward(this.#target, port, { input: data, output: data, signal: gone.signal });
    if (failure === undefined) {
      await ended(data);
      await ended(error);
    } else {
      await ended(error, failure);
      data.reset(RST.cancel);
      error.reset(RST.cancel);
    }
    this.#forwarding.delete(gone);
  }
}

/** Old clients give none: their error stream comes first, with the number before that of its data stream. */
function requestId(stream: SpdyStream, type: 'data' | 'error'): string {
  const given = stream.headers.get('requestid') ?? '';
  return given === '' ? String(type === 'error' ? stream.id : stream.id - 2) : given;
}
