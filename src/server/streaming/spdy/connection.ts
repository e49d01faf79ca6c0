import type { Duplex } from 'node:stream';
import type { Clock } from '../../../util/clock.ts';
import { IdleTimer } from '../idle-timer.ts';
import { FrameParser, type FrameSink, goAwayFrame, pingFrame, rstFrame, synReplyFrame } from './frames.ts';
import { HeaderBudget } from './header-budget.ts';
import { FIRST_REPLY_BLOCK, HeaderInflater, NEXT_REPLY_BLOCK } from './headers.ts';
import { Outbox } from './outbox.ts';
import { SpdyProtocolError } from './protocol-error.ts';
import { ReadGate } from './read-gate.ts';
import { RST, SpdyStream, type StreamWire } from './stream.ts';

const IDLE_MS = 4 * 3600 * 1000;
const LINGER_MS = 5000;
const MAX_STREAMS = 10_000;
const GOAWAY = { ok: 0, protocolError: 1, internalError: 2 } as const;

export interface SpdyOptions {
  readonly clock: Clock;
  /** Aborted: as `close()`. */
  readonly signal?: AbortSignal;
  /** Called for every new stream, in order of arrival; it accepts or resets, now or later. Nothing may throw: that ends the connection. */
  readonly onStream: (stream: SpdyStream) => void;
  /** A PING of the peer has been answered. */
  readonly onPing?: () => void;
  /** Without any frame from the peer or data to it for this long, the connection is closed. Default 4 h. */
  readonly idleTimeoutMs?: number;
  /** How long `close()` waits for the peer before the socket is destroyed. Default 5 s. */
  readonly lingerMs?: number;
  /** Streams open at once; more are refused. Default 10,000. */
  readonly maxStreams?: number;
}

/**
 * The server's side of a SPDY/3.1 connection, as Kubernetes uses it (no flow control: a slow reader of one stream
 * stops the socket, and with it the other streams).
 * `socket` is any Duplex that has just been upgraded (TLS socket, WebSocket tunnel), `head` what was read beyond the request.
 * Nothing is sent before the client's first frame. The socket belongs to the connection from here on.
 */
export class SpdyConnection {
  /** Resolves when the socket is closed; never rejects. */
  readonly closed: Promise<void>;
  readonly #socket: Duplex;
  readonly #options: SpdyOptions;
  readonly #outbox: Outbox;
  readonly #gate: ReadGate;
  readonly #idle: IdleTimer;
  readonly #parser: FrameParser;
  readonly #inflater = new HeaderInflater();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #budget = new HeaderBudget();
  readonly #abort = new AbortController();
  readonly #wire: StreamWire;
  #phase: 'open' | 'ending' | 'closed' = 'open';
  #peerSaidGoAway = false;
  #replied = false;
  #lastStreamId = 0;
  #lastPingId = 0;

  constructor(socket: Duplex, head: Buffer, options: SpdyOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#outbox = new Outbox(socket, () => this.#fail(new Error('the client reads no answers')));
    this.#gate = new ReadGate(socket, options.clock, () => this.#ping());
    this.#idle = new IdleTimer(options.clock, options.idleTimeoutMs ?? IDLE_MS, () => this.#fail(new Error('idle')));
    this.#parser = new FrameParser(this.#sink());
    this.#wire = this.#streamWire();
    const closed = Promise.withResolvers<void>();
    this.closed = closed.promise;
    this.#listen(head, closed.resolve);
  }

  /** Aborted when the connection ends, for whatever reason (an Error): own close, peer gone, GOAWAY and no stream left, protocol error, idle. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Streams not yet closed in both directions. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Resets what is open, sends GOAWAY, half-closes the socket, discards input until the peer closes (5 s), then destroys. */
  close(): Promise<void> {
    this.#end(GOAWAY.ok, new Error('connection closed'));
    return this.closed;
  }

  #listen(head: Buffer, resolveClosed: () => void): void {
    const { signal } = this.#options;
    const onAbort = (): void => this.#end(GOAWAY.ok, abortError(signal?.reason));
    let cause: Error | undefined;
    this.#socket.on('error', (error) => {
      cause = error;
    });
    this.#socket.on('end', () => this.#fail(new Error('the client closed the connection')));
    this.#socket.on('close', () => {
      signal?.removeEventListener('abort', onAbort);
      this.#onClosed(new Error('connection lost', cause && { cause }));
      resolveClosed();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
    // Not from within the constructor: onStream may need the connection.
    process.nextTick(() => {
      if (this.#socket.destroyed) return;
      if (signal?.aborted === true) onAbort();
      if (head.length > 0) this.#receive(head);
      this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    });
  }

  #receive(chunk: Buffer): void {
    // Lingering: what comes is discarded.
    if (this.#phase !== 'open') return;
    this.#idle.touch();
    try {
      this.#parser.push(chunk);
    } catch (error: unknown) {
      const status = error instanceof SpdyProtocolError ? GOAWAY.protocolError : GOAWAY.internalError;
      this.#fail(error instanceof Error ? error : new Error(String(error)), status);
    }
  }

  #sink(): FrameSink {
    const ifOpen = (streamId: number): SpdyStream | undefined =>
      this.#phase === 'open' ? this.#streams.get(streamId) : undefined;
    return {
      // Data for a stream we do not know belongs to one that was reset a moment ago: never answered.
      data: (streamId, payload) => ifOpen(streamId)?.receive(payload),
      fin: (streamId) => ifOpen(streamId)?.receiveFin(),
      rst: (streamId) => ifOpen(streamId)?.receiveReset(),
      synStream: (streamId, fin, block) => {
        if (this.#phase === 'open') this.#open(streamId, fin, this.#inflater.inflate(block));
      },
      headers: (block) => void this.#inflater.inflate(block),
      ping: (id) => this.#onPing(id),
      goAway: () => {
        this.#peerSaidGoAway = true;
        this.#endIfOver();
      },
    };
  }

  #streamWire(): StreamWire {
    return {
      reply: (streamId) => {
        this.#outbox.control(synReplyFrame(streamId, this.#replied ? NEXT_REPLY_BLOCK : FIRST_REPLY_BLOCK));
        this.#replied = true;
      },
      rst: (streamId, status) => this.#outbox.control(rstFrame(streamId, status)),
      data: (streamId, chunks, done) => {
        this.#idle.touch();
        this.#outbox.data(streamId, chunks, done);
      },
      fin: (streamId, done) => this.#outbox.fin(streamId, done),
      queued: (stream, cost, before) => this.#gate.queued(stream, cost, before),
      freed: (stream) => {
        if (this.#streams.delete(stream.id)) this.#budget.release(stream.headers);
        this.#outbox.forget(stream.id);
        this.#endIfOver();
      },
    };
  }

  #open(streamId: number, fin: boolean, headers: ReadonlyMap<string, string>): void {
    if (streamId % 2 === 0 || streamId <= this.#lastStreamId) {
      throw new SpdyProtocolError(`new stream ${streamId} after ${this.#lastStreamId}`);
    }
    this.#lastStreamId = streamId;
    if (this.#peerSaidGoAway) return;
    if (this.#streams.size >= (this.#options.maxStreams ?? MAX_STREAMS) || !this.#budget.take(headers)) {
      this.#outbox.control(rstFrame(streamId, RST.refusedStream));
      return;
    }
    const stream = new SpdyStream(this.#wire, streamId, headers);
    this.#streams.set(streamId, stream);
    if (fin) stream.receiveFin();
    this.#options.onStream(stream);
  }

  /** Odd ids are questions, even ones answers to ours. */
  #onPing(id: number): void {
    if (id % 2 === 0) return;
    this.#outbox.control(pingFrame(id));
    this.#options.onPing?.();
  }

  #ping(): void {
    this.#lastPingId = (this.#lastPingId % 0x7fff_fffe) + 2;
    this.#outbox.control(pingFrame(this.#lastPingId));
  }

  #endIfOver(): void {
    if (this.#peerSaidGoAway && this.#streams.size === 0) this.#end(GOAWAY.ok, new Error('the client has finished'));
  }

  #fail(error: Error, status: number = GOAWAY.ok): void {
    this.#end(status, error, error);
  }

  /** The streams end without an error when it was our own decision. */
  #end(status: number, reason: Error, streamError?: Error): void {
    if (this.#phase !== 'open') return;
    this.#phase = 'ending';
    this.#idle.stop();
    for (const stream of [...this.#streams.values()]) stream.destroy(streamError);
    this.#outbox.control(goAwayFrame(this.#lastStreamId, status));
    this.#outbox.end();
    this.#gate.openForGood();
    const cancel = this.#options.clock.timer(this.#options.lingerMs ?? LINGER_MS, () => this.#socket.destroy());
    this.#socket.once('close', cancel);
    this.#abort.abort(reason);
  }

  #onClosed(reason: Error): void {
    const wasOpen = this.#phase === 'open';
    this.#phase = 'closed';
    this.#idle.stop();
    this.#gate.stop();
    this.#outbox.fail(reason);
    for (const stream of [...this.#streams.values()]) stream.destroy(wasOpen ? reason : undefined);
    this.#abort.abort(reason);
  }
}

function abortError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('aborted', { cause: reason });
}
