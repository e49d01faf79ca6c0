import { Readable, Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Clock } from '../../../util/clock.ts';
import { IdleTimer } from '../idle-timer.ts';
import { protocolVersion } from '../negotiation.ts';
import { Liveness } from './liveness.ts';
import { send } from './send.ts';

const READ_AHEAD_BYTES = 1 << 20;
const WRITE_AHEAD_BYTES = 256 << 10;
const NORMAL = 1000;
const PROTOCOL_ERROR = 1002;
/** First byte of the message with which a client of version 5 closes a channel, named by the second byte. */
const CLOSE_SIGNAL = 255;
const ASCII_ZERO = 48;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

export interface ChannelOptions {
  /** As chosen; the empty name is channel.k8s.io. */
  readonly protocol: string;
  /** How many channels there are; what comes for others is ignored. */
  readonly count: number;
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
}

/**
 * Several streams over one WebSocket: each message begins with its channel, as a byte, or as a digit before base64
 * (reference 11.9). One reader that does not read stops the socket, and with it the other channels.
 */
export class ChannelSocket {
  readonly #webSocket: WebSocket;
  readonly #count: number;
  readonly #base64: boolean;
  readonly #closable: boolean;
  readonly #liveness: Liveness;
  readonly #idle: IdleTimer;
  readonly #readers = new Map<number, ChannelReader>();
  readonly #writers: Writable[] = [];
  readonly #gone = new AbortController();

  constructor(webSocket: WebSocket, { protocol, count, clock, idleTimeoutMs }: ChannelOptions) {
    this.#webSocket = webSocket;
    this.#count = count;
    this.#base64 = protocol.includes('base64');
    this.#closable = protocolVersion(protocol) >= 5;
    this.#liveness = new Liveness(webSocket, clock);
    this.#idle = new IdleTimer(clock, idleTimeoutMs, () => webSocket.terminate());
    webSocket.on('message', (data) => this.#receive(toBuffer(data)));
    webSocket.on('close', () => this.#onClose());
  }

  /** Aborts when the connection is over, whoever ended it. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  reader(channel: number): Readable {
    const reader = new ChannelReader(this.#liveness);
    this.#readers.set(channel, reader);
    return reader;
  }

  /** Ending it sends nothing: no version has a mark for the end of an output. */
  writer(channel: number): Writable {
    const write = (chunks: readonly Buffer[], done: (error?: Error | null) => void): void => {
      this.#idle.touch();
      send(this.#webSocket, this.#encode(channel, chunks), !this.#base64, done);
    };
    const writer = new Writable({
      highWaterMark: WRITE_AHEAD_BYTES,
      write: (chunk: Buffer, _encoding, done) => write([chunk], done),
      writev: (chunks, done) =>
        write(
          chunks.map(({ chunk }) => chunk),
          done,
        ),
    });
    writer.on('error', () => {}); // told by the signal
    this.#writers.push(writer);
    return writer;
  }

  /** An empty message, which tells that the channel is there. */
  announce(channel: number): void {
    send(this.#webSocket, this.#encode(channel, []), !this.#base64, () => {});
  }

  /** To be called when the writers have ended; what the client still sends is thrown away. */
  close(): void {
    for (const reader of this.#readers.values()) reader.destroy();
    this.#liveness.close(NORMAL);
  }

  /** At once, without a word. */
  terminate(): void {
    this.#webSocket.terminate();
  }

  #encode(channel: number, chunks: readonly Buffer[]): Buffer {
    if (this.#base64) {
      return Buffer.from(`${String.fromCharCode(ASCII_ZERO + channel)}${Buffer.concat(chunks).toString('base64')}`);
    }
    return Buffer.concat([Buffer.of(channel), ...chunks]);
  }

  #receive(message: Buffer): void {
    this.#idle.touch();
    const [first, second] = message;
    if (first === undefined) return;
    if (this.#closable && first === CLOSE_SIGNAL) {
      if (message.length !== 2 || second === undefined || second >= this.#count) this.#liveness.close(PROTOCOL_ERROR);
      else this.#readers.get(second)?.finish();
      return;
    }
    const reader = this.#readers.get(this.#base64 ? first - ASCII_ZERO : first);
    if (reader === undefined) return;
    const data = this.#base64 ? decodeBase64(message) : message.subarray(1);
    if (data.length > 0) reader.feed(data);
  }

  #onClose(): void {
    this.#idle.stop();
    for (const reader of this.#readers.values()) reader.finish();
    for (const writer of this.#writers) writer.destroy();
    this.#gone.abort(new Error('the client is gone'));
  }
}

class ChannelReader extends Readable {
  readonly #liveness: Liveness;
  #finished = false;

  constructor(liveness: Liveness) {
    super({ highWaterMark: READ_AHEAD_BYTES });
    this.#liveness = liveness;
    this.on('error', () => {}); // nobody but its owner destroys it, and he knows why
  }

  feed(data: Buffer): void {
    if (this.destroyed || this.#finished) return;
    if (!this.push(data)) this.#liveness.pause(this);
  }

  finish(): void {
    if (this.destroyed || this.#finished) return;
    this.#finished = true;
    this.push(null);
  }

  override _read(): void {
    this.#liveness.resume(this);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // The rest of what the client sends must not block the other channels.
    this.#liveness.resume(this);
    done(error);
  }
}

/** Empty for what is no base64: such a message is dropped, as Go's decoder makes the kubelet do. */
function decodeBase64(message: Buffer): Buffer {
  const text = message.toString('latin1', 1);
  return text.length % 4 === 0 && BASE64.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0);
}

/** `ws` gives a Buffer, unless another binaryType is asked for. */
function toBuffer(data: Buffer | ArrayBuffer | Buffer[]): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
