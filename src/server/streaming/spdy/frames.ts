import { SpdyProtocolError } from './protocol-error.ts';

const TYPE = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  ping: 6,
  goAway: 7,
  headers: 8,
} as const;

const FLAG_FIN = 1;
/** Of all frames, control and data. */
export const HEADER_BYTES = 8;
export const MAX_CONTROL_PAYLOAD = 1 << 20;

/** SYN_STREAM: stream id, associated stream id, priority, slot; then the header block. */
const SYN_STREAM_FIXED = 10;
const NOTHING = Buffer.alloc(0);

/** Who gets what the parser found. A frame's payload is a piece of the buffer that was pushed: valid, not copied. */
export interface FrameSink {
  /** A piece of a DATA frame, as it arrived; never empty. */
  data(streamId: number, payload: Buffer): void;
  /** The end of a DATA frame with FIN. */
  fin(streamId: number): void;
  synStream(streamId: number, fin: boolean, headerBlock: Buffer): void;
  /** HEADERS and SYN_REPLY: Kubernetes sends neither, but the block must pass through the inflater. */
  headers(headerBlock: Buffer): void;
  rst(streamId: number): void;
  ping(id: number): void;
  goAway(): void;
}

type State =
  | { readonly in: 'header' }
  | { readonly in: 'data'; readonly streamId: number; readonly fin: boolean }
  | { readonly in: 'control'; readonly type: number; readonly flags: number; readonly payload: Buffer }
  | { readonly in: 'skipped' };

const IN_HEADER: State = { in: 'header' };
const IN_SKIPPED: State = { in: 'skipped' };

/**
 * Finds the frames in a byte stream that arrives cut anywhere (Go writes every field by itself).
 * Holds at most a header and one control payload; DATA is passed on as it comes.
 * Throws SpdyProtocolError, after which it must not be used.
 */
export class FrameParser {
  readonly #sink: FrameSink;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #state: State = IN_HEADER;
  /** Payload bytes still to come. */
  #left = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let offset = 0;
    while (offset < chunk.length) {
      if (this.#state.in === 'header') offset = this.#readHeader(chunk, offset);
      else offset = this.#readPayload(this.#state, chunk, offset);
    }
  }

  #readHeader(chunk: Buffer, offset: number): number {
    if (this.#headerBytes === 0 && chunk.length - offset >= HEADER_BYTES) {
      this.#begin(chunk, offset);
      return offset + HEADER_BYTES;
    }
    const end = Math.min(chunk.length, offset + HEADER_BYTES - this.#headerBytes);
    this.#headerBytes += chunk.copy(this.#header, this.#headerBytes, offset, end);
    if (this.#headerBytes === HEADER_BYTES) {
      this.#headerBytes = 0;
      this.#begin(this.#header, 0);
    }
    return end;
  }

  #begin(header: Buffer, offset: number): void {
    const word = header.readUInt32BE(offset);
    const flags = header.readUInt8(offset + 4);
    const length = header.readUIntBE(offset + 5, 3);
    this.#left = length;
    if (word >= 0x8000_0000) this.#beginControl(word, flags, length);
    else if (word === 0) throw new SpdyProtocolError('DATA frame for stream 0');
    else this.#state = { in: 'data', streamId: word, fin: (flags & FLAG_FIN) !== 0 };
    if (length === 0) this.#finish(this.#state);
  }

  #beginControl(word: number, flags: number, length: number): void {
    const version = (word >>> 16) & 0x7fff;
    const type = word & 0xffff;
    if (version !== 3) throw new SpdyProtocolError(`SPDY version ${version} instead of 3`);
    if (length > MAX_CONTROL_PAYLOAD) throw new SpdyProtocolError(`control frame ${type} of ${length} bytes`);
    const [min, max] = controlBounds(type);
    if (length < min || length > max) throw new SpdyProtocolError(`control frame ${type} of ${length} bytes`);
    this.#state = isRead(type)
      ? { in: 'control', type, flags, payload: length === 0 ? NOTHING : Buffer.allocUnsafeSlow(length) }
      : IN_SKIPPED;
  }

  #readPayload(state: State, chunk: Buffer, offset: number): number {
    const end = Math.min(chunk.length, offset + this.#left);
    if (state.in === 'data') {
      this.#left -= end - offset;
      this.#sink.data(state.streamId, chunk.subarray(offset, end));
    } else {
      if (state.in === 'control') chunk.copy(state.payload, state.payload.length - this.#left, offset, end);
      this.#left -= end - offset;
    }
    if (this.#left === 0) this.#finish(state);
    return end;
  }

  #finish(state: State): void {
    this.#state = IN_HEADER;
    if (state.in === 'data' && state.fin) this.#sink.fin(state.streamId);
    if (state.in === 'control') this.#control(state.type, state.flags, state.payload);
  }

  #control(type: number, flags: number, payload: Buffer): void {
    switch (type) {
      case TYPE.synStream:
        this.#sink.synStream(streamIdAt(payload), (flags & FLAG_FIN) !== 0, payload.subarray(SYN_STREAM_FIXED));
        break;
      case TYPE.synReply:
      case TYPE.headers:
        this.#sink.headers(payload.subarray(4));
        break;
      case TYPE.rstStream:
        this.#sink.rst(streamIdAt(payload));
        break;
      case TYPE.ping:
        this.#sink.ping(payload.readUInt32BE(0));
        break;
      case TYPE.goAway:
        this.#sink.goAway();
        break;
    }
  }
}

/** Lengths that a control frame of this type may have; unknown ones (and SETTINGS, WINDOW_UPDATE: no flow control) any. */
function controlBounds(type: number): readonly [min: number, max: number] {
  switch (type) {
    case TYPE.synStream:
      return [SYN_STREAM_FIXED, MAX_CONTROL_PAYLOAD];
    case TYPE.synReply:
    case TYPE.headers:
      return [4, MAX_CONTROL_PAYLOAD];
    case TYPE.rstStream:
    case TYPE.goAway:
      return [8, 8];
    case TYPE.ping:
      return [4, 4];
    default:
      return [0, MAX_CONTROL_PAYLOAD];
  }
}

function isRead(type: number): boolean {
  return (Object.values(TYPE) as readonly number[]).includes(type); // widened: is it one of ours?
}

/** The first bit of a stream id is reserved. */
function streamIdAt(payload: Buffer): number {
  return payload.readUInt32BE(0) & 0x7fff_ffff;
}

function control(type: number, payloadBytes: number): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payloadBytes);
  frame.writeUInt32BE(0x8003_0000 + type, 0);
  frame.writeUInt32BE(payloadBytes, 4); // flags 0, length
  return frame;
}

/** A stream's data goes in frames of less than 16 MiB (the length has 24 bits), each after such a header. */
export function writeDataHeader(target: Buffer, streamId: number, flags: number, payloadBytes: number): void {
  target.writeUInt32BE(streamId, 0);
  target.writeUInt32BE(flags * 0x100_0000 + payloadBytes, 4);
}

export function finFrame(streamId: number): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES);
  writeDataHeader(frame, streamId, FLAG_FIN, 0);
  return frame;
}

export function synReplyFrame(streamId: number, headerBlock: Buffer): Buffer {
  const frame = control(TYPE.synReply, 4 + headerBlock.length);
  frame.writeUInt32BE(streamId, HEADER_BYTES);
  headerBlock.copy(frame, HEADER_BYTES + 4);
  return frame;
}

export function rstFrame(streamId: number, status: number): Buffer {
  const frame = control(TYPE.rstStream, 8);
  frame.writeUInt32BE(streamId, HEADER_BYTES);
  frame.writeUInt32BE(status, HEADER_BYTES + 4);
  return frame;
}

export function pingFrame(id: number): Buffer {
  const frame = control(TYPE.ping, 4);
  frame.writeUInt32BE(id, HEADER_BYTES);
  return frame;
}

/** Status 0 is a regular end, 1 a protocol error, 2 an internal one. */
export function goAwayFrame(lastStreamId: number, status: number): Buffer {
  const frame = control(TYPE.goAway, 8);
  frame.writeUInt32BE(lastStreamId, HEADER_BYTES);
  frame.writeUInt32BE(status, HEADER_BYTES + 4);
  return frame;
}
