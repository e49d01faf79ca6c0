import { Duplex } from 'node:stream';
import { ChunkQueue } from './chunk-queue.ts';

/** Status codes of RST_STREAM. */
export const RST = {
  protocolError: 1,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
} as const;

/** What a stream waits for to be read before it stops the socket (cost as ChunkQueue counts it). */
export const STREAM_QUEUE = 1 << 20;
/** Kept by Node's own buffers, beside the queue. */
const READABLE_MARK = 64 * 1024;
const WRITABLE_MARK = 256 * 1024;

/** The connection, as its streams see it. */
export interface StreamWire {
  reply(streamId: number): void;
  rst(streamId: number, status: number): void;
  data(streamId: number, chunks: readonly Buffer[], done: (error?: Error) => void): void;
  fin(streamId: number, done: (error?: Error) => void): void;
  /** The cost of what the stream has queued, now and before. */
  queued(stream: SpdyStream, cost: number, before: number): void;
  freed(stream: SpdyStream): void;
}

/** The peer reset the stream: it reads and writes no more of it. */
export class SpdyStreamReset extends Error {
  override readonly name = 'SpdyStreamReset';
}

/**
 * One stream of a SPDY connection: reading ends with the peer's FIN, `end()` sends ours, both independently.
 * It always has an 'error' listener of its own, so nobody is killed by an error that comes early or late.
 * A stream that is destroyed before both sides are finished resets the peer's (CANCEL).
 */
export class SpdyStream extends Duplex {
  /** Odd; rises within a connection. */
  readonly id: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly #wire: StreamWire;
  readonly #queue = new ChunkQueue();
  /** Node's buffer has room: what arrives goes there at once. */
  #wanted = false;
  #accepted = false;
  /** No more from the peer, by FIN or RST. */
  #remoteDone = false;
  #localDone = false;
  #wasReset = false;

  constructor(wire: StreamWire, id: number, headers: ReadonlyMap<string, string>) {
    super({ allowHalfOpen: true, readableHighWaterMark: READABLE_MARK, writableHighWaterMark: WRITABLE_MARK });
    this.#wire = wire;
    this.id = id;
    this.headers = headers;
    this.on('error', () => {});
  }

  /** Sends SYN_REPLY, once; the client waits for it 30 s. The first write does it too: data before the reply would be lost. */
  accept(): void {
    if (this.#accepted || this.destroyed) return;
    this.#accepted = true;
    this.#wire.reply(this.id);
  }

  /** Sends RST_STREAM and destroys the stream without an error. */
  reset(status: number = RST.cancel): void {
    if (this.destroyed) return;
    this.#sendReset(status);
    this.destroy();
  }

  /** The connection only. */
  receive(chunk: Buffer): void {
    if (this.#remoteDone || this.destroyed) return;
    if (this.#wanted) this.#wanted = this.push(chunk);
    else {
      const before = this.#queue.cost;
      this.#queue.add(chunk);
      this.#wire.queued(this, this.#queue.cost, before);
    }
  }

  /** The connection only. */
  receiveFin(): void {
    if (this.#remoteDone || this.destroyed) return;
    this.#remoteDone = true;
    if (this.#queue.isEmpty) this.push(null);
    this.#freeUnread();
  }

  /** The connection only. */
  receiveReset(): void {
    if (this.destroyed) return;
    this.#wasReset = true;
    this.destroy(new SpdyStreamReset(`stream ${this.id} was reset by the client`));
  }

  override _read(): void {
    const before = this.#queue.cost;
    this.#wanted = true;
    while (this.#wanted) {
      const chunk = this.#queue.take();
      if (chunk === undefined) break;
      this.#wanted = this.push(chunk);
    }
    if (this.#queue.isEmpty && this.#remoteDone && before > 0) this.push(null);
    if (this.#queue.cost !== before) this.#wire.queued(this, this.#queue.cost, before);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    this.accept();
    this.#wire.data(this.id, [chunk], callback);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], callback: (error?: Error | null) => void): void {
    this.accept();
    this.#wire.data(
      this.id,
      chunks.map(({ chunk }) => chunk),
      callback,
    );
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.accept();
    this.#wire.fin(this.id, (error) => {
      this.#localDone = true;
      callback(error);
      this.#freeUnread();
    });
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!(this.#remoteDone && this.#localDone)) this.#sendReset(RST.cancel);
    const before = this.#queue.cost;
    this.#queue.clear();
    if (before > 0) this.#wire.queued(this, 0, before);
    this.#wire.freed(this);
    callback(error);
  }

  #sendReset(status: number): void {
    if (this.#wasReset) return;
    this.#wasReset = true;
    this.#wire.rst(this.id, status);
  }

  /** A stream that is over, and of which nobody reads the end (often nobody reads an error stream), would stay for ever. */
  #freeUnread(): void {
    const isOver = this.#remoteDone && this.#localDone && this.#queue.isEmpty && this.readableLength === 0;
    if (isOver && this.readableFlowing === null && this.listenerCount('readable') === 0) this.resume();
  }
}
