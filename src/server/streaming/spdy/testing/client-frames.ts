/** What a client sends and how it reads the answers: written apart from the code under test. */

const FIN = 1;

function controlFrame(type: number, flags: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8003, 0);
  head.writeUInt16BE(type, 2);
  head.writeUInt8(flags, 4);
  head.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([head, payload]);
}

function uint32(...values: number[]): Buffer {
  const buffer = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) buffer.writeUInt32BE(value, 4 * index);
  return buffer;
}

function headerText(headers: Readonly<Record<string, string>>): Buffer {
  const parts = [uint32(Object.keys(headers).length)];
  for (const text of Object.entries(headers).flat()) parts.push(uint32(Buffer.byteLength(text)), Buffer.from(text));
  return Buffer.concat(parts);
}

/** A stored (not compressed) deflate block. */
function stored(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(0xffff ^ bytes.length, 3);
  return Buffer.concat([head, bytes]);
}

/** Frames of one client connection; header blocks are not compressed, but are the zlib stream that they must be. */
export class ClientFrames {
  #isFirst = true;

  headerBlock(text: Buffer): Buffer {
    const zlibHeader = this.#isFirst ? Buffer.from('7801', 'hex') : Buffer.alloc(0);
    this.#isFirst = false;
    return Buffer.concat([zlibHeader, stored(text), stored(Buffer.alloc(0))]);
  }

  synStream(id: number, headers: Readonly<Record<string, string>> = {}, { fin = false } = {}): Buffer {
    const block = this.headerBlock(headerText(headers));
    return controlFrame(1, fin ? FIN : 0, Buffer.concat([uint32(id, 0), Buffer.alloc(2), block]));
  }

  headers(id: number, headers: Readonly<Record<string, string>>): Buffer {
    return controlFrame(8, 0, Buffer.concat([uint32(id), this.headerBlock(headerText(headers))]));
  }

  data(id: number, payload: Buffer | string, { fin = false } = {}): Buffer {
    const bytes = Buffer.from(payload);
    const head = Buffer.alloc(8);
    head.writeUInt32BE(id, 0);
    head.writeUInt8(fin ? FIN : 0, 4);
    head.writeUIntBE(bytes.length, 5, 3);
    return Buffer.concat([head, bytes]);
  }

  fin(id: number): Buffer {
    return this.data(id, '', { fin: true });
  }

  rst(id: number, status = 5): Buffer {
    return controlFrame(3, 0, uint32(id, status));
  }

  ping(id: number): Buffer {
    return controlFrame(6, 0, uint32(id));
  }

  goAway(): Buffer {
    return controlFrame(7, 0, uint32(0, 0));
  }

  control(type: number, payload: Buffer): Buffer {
    return controlFrame(type, 0, payload);
  }
}

export type ServerFrame =
  | { readonly type: 'data'; readonly id: number; readonly fin: boolean; readonly payload: Buffer }
  | { readonly type: 'synReply'; readonly id: number; readonly block: Buffer }
  | { readonly type: 'rst'; readonly id: number; readonly status: number }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goAway'; readonly lastId: number; readonly status: number };

/** All complete frames of what the server sent. */
export function serverFrames(bytes: Buffer): ServerFrame[] {
  const frames: ServerFrame[] = [];
  for (let offset = 0; offset + 8 <= bytes.length; ) {
    const word = bytes.readUInt32BE(offset);
    const flags = bytes.readUInt8(offset + 4);
    const end = offset + 8 + bytes.readUIntBE(offset + 5, 3);
    if (end > bytes.length) break;
    frames.push(serverFrame(word, flags, bytes.subarray(offset + 8, end)));
    offset = end;
  }
  return frames;
}

function serverFrame(word: number, flags: number, payload: Buffer): ServerFrame {
  switch (word) {
    case 0x8003_0002:
      return { type: 'synReply', id: payload.readUInt32BE(0), block: payload.subarray(4) };
    case 0x8003_0003:
      return { type: 'rst', id: payload.readUInt32BE(0), status: payload.readUInt32BE(4) };
    case 0x8003_0006:
      return { type: 'ping', id: payload.readUInt32BE(0) };
    case 0x8003_0007:
      return { type: 'goAway', lastId: payload.readUInt32BE(0), status: payload.readUInt32BE(4) };
    default:
      if (word >= 0x8000_0000) throw new Error(`unexpected control frame ${word.toString(16)}`);
      return { type: 'data', id: word, fin: (flags & FIN) !== 0, payload };
  }
}
