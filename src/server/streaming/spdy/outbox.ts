import type { Duplex } from 'node:stream';
import { finFrame, HEADER_BYTES, writeDataHeader } from './frames.ts';

type Done = (error?: Error) => void;

interface Job {
  readonly chunks: readonly Buffer[];
  readonly done: Done;
}

/** The socket's queue is left alone above this; streams then wait for it to drain, one after another. */
const SOCKET_QUEUE = 256 * 1024;
/** Payload of one frame: the peer holds a whole frame before it hands it out. */
const MAX_FRAME = 256 * 1024;
/** A batch that has grown to this is not kept until the end of the tick. */
const BATCH = 64 * 1024;
/** Chunks that are smaller on average are copied together: cheaper than a list of thousands for the socket. */
const JOIN_BELOW = 4096;
/** Control frames (answers to PING and to what was refused) that a peer may leave unread. */
const MAX_CONTROL_BACKLOG = 1 << 20;

/**
 * The writing side of the socket. What is written in one tick leaves in one go; consecutive writes of a stream
 * become one frame. Invariant: the socket's queue holds at most SOCKET_QUEUE plus what one stream had in its own
 * queue, plus MAX_CONTROL_BACKLOG.
 */
export class Outbox {
  readonly #socket: Duplex;
  readonly #onStuck: () => void;
  /** One job a stream, in order of arrival: a Duplex writes again only after `done`. */
  readonly #waiting = new Map<number, Job>();
  #batch: Buffer[] = [];
  #batchStream = 0;
  #batchBytes = 0;
  #controlBacklog = 0;
  #corked = false;
  #ended = false;

  /** `onStuck`: the peer sends what must be answered but reads no answers. */
  constructor(socket: Duplex, onStuck: () => void) {
    this.#socket = socket;
    this.#onStuck = onStuck;
    socket.on('drain', () => this.#drained());
  }

  /** `done` when the socket has room for more. */
  data(streamId: number, chunks: readonly Buffer[], done: Done): void {
    if (this.#isClosed()) done(new Error('connection closed'));
    else if (this.#waiting.size > 0 || this.#isFull()) this.#waiting.set(streamId, { chunks, done });
    else {
      this.#append(streamId, chunks);
      done();
    }
  }

  /** After the stream's last `done`. */
  fin(streamId: number, done: Done): void {
    if (this.#isClosed()) {
      done(new Error('connection closed'));
      return;
    }
    this.#flush();
    this.#write(finFrame(streamId));
    done();
  }

  control(frame: Buffer): void {
    if (this.#isClosed()) return;
    this.#flush();
    this.#controlBacklog = this.#socket.writableLength === 0 ? frame.length : this.#controlBacklog + frame.length;
    this.#write(frame);
    if (this.#controlBacklog > MAX_CONTROL_BACKLOG) this.#onStuck();
  }

  /** The stream is gone: what it still wanted to write is dropped. */
  forget(streamId: number): void {
    this.#waiting.delete(streamId);
  }

  /** What was written leaves, then the socket's writing side ends. */
  end(): void {
    if (this.#isClosed()) return;
    this.#tick();
    this.#ended = true;
    this.#socket.end();
  }

  /** The socket is gone. */
  fail(error: Error): void {
    this.#ended = true;
    const jobs = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const job of jobs) job.done(error);
  }

  #isClosed(): boolean {
    return this.#ended || this.#socket.destroyed || this.#socket.writableEnded;
  }

  /** Only when 'drain' is sure to come. */
  #isFull(): boolean {
    return this.#socket.writableNeedDrain && this.#socket.writableLength >= SOCKET_QUEUE;
  }

  #drained(): void {
    this.#controlBacklog = 0;
    for (const [streamId, job] of this.#waiting) {
      if (this.#isClosed() || this.#isFull()) return;
      this.#waiting.delete(streamId);
      this.#append(streamId, job.chunks);
      // May come back with the stream's next job, which then queues up behind the others.
      job.done();
    }
  }

  #append(streamId: number, chunks: readonly Buffer[]): void {
    for (const chunk of chunks) {
      for (let offset = 0; offset < chunk.length; offset += MAX_FRAME) {
        const piece = chunk.length <= MAX_FRAME ? chunk : chunk.subarray(offset, offset + MAX_FRAME);
        if (this.#batchStream !== streamId || this.#batchBytes + piece.length > MAX_FRAME) this.#flush();
        this.#batchStream = streamId;
        this.#batch.push(piece);
        this.#batchBytes += piece.length;
        if (this.#batchBytes >= BATCH) this.#flush();
      }
    }
    this.#cork();
  }

  /** The batch becomes a frame. */
  #flush(): void {
    const bytes = this.#batchBytes;
    if (bytes === 0) return;
    const chunks = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    if (bytes < JOIN_BELOW * chunks.length) this.#write(joined(this.#batchStream, chunks, bytes));
    else {
      const header = Buffer.allocUnsafe(HEADER_BYTES);
      writeDataHeader(header, this.#batchStream, 0, bytes);
      this.#write(header);
      for (const chunk of chunks) this.#write(chunk);
    }
  }

  #write(buffer: Buffer): void {
    this.#cork();
    this.#socket.write(buffer);
  }

  #cork(): void {
    if (this.#corked) return;
    this.#corked = true;
    this.#socket.cork();
    process.nextTick(() => this.#tick());
  }

  #tick(): void {
    if (!this.#corked) return;
    if (!this.#isClosed()) this.#flush();
    this.#corked = false;
    this.#socket.uncork();
  }
}

function joined(streamId: number, chunks: readonly Buffer[], bytes: number): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + bytes);
  writeDataHeader(frame, streamId, 0, bytes);
  let offset = HEADER_BYTES;
  for (const chunk of chunks) offset += chunk.copy(frame, offset);
  return frame;
}
