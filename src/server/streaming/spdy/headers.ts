import { constants, inflateRawSync } from 'node:zlib';
import { DICTIONARY_BASE64 } from './dictionary.ts';
import { SpdyProtocolError } from './protocol-error.ts';

export const DICTIONARY: Buffer = Buffer.from(DICTIONARY_BASE64, 'base64');
/** Adler-32 of the dictionary, by which zlib names it. */
const DICTIONARY_ID = 0xe3c6_a7c2;
const WINDOW_BYTES = 32_768;
/** Header text of one block; Kubernetes sends less than 100 bytes. */
export const MAX_HEADER_TEXT = 64 * 1024;

/**
 * Inflates the header blocks of one direction of a connection. They are pieces of one zlib stream, but the peer
 * flushes after each, so a block is complete in itself and the only state is the last 32 KiB of text: no
 * asynchronous zlib object, and a hard limit on what a block may grow to.
 * Every block of the connection must pass through, else the next ones are garbage.
 */
export class HeaderInflater {
  /** Undefined until the first block told. */
  #window: Buffer | undefined;

  /** Throws SpdyProtocolError. */
  inflate(block: Buffer): ReadonlyMap<string, string> {
    let deflated = block;
    let window = this.#window;
    if (window === undefined) {
      const start = readZlibHeader(block);
      deflated = block.subarray(start.bytes);
      window = start.window;
    }
    const text = inflateText(deflated, window);
    this.#window = slide(window, text);
    return parseHeaders(text);
  }
}

function slide(window: Buffer, text: Buffer): Buffer {
  const kept = Math.max(0, WINDOW_BYTES - text.length);
  return Buffer.concat([window.subarray(Math.max(0, window.length - kept)), text.subarray(-WINDOW_BYTES)]);
}

function readZlibHeader(block: Buffer): { readonly bytes: number; readonly window: Buffer } {
  // RFC 1950: method 8, a multiple of 31, bit 5 of the second byte says that a dictionary id follows.
  if (block.length < 2 || (block.readUInt8(0) & 0x0f) !== 8 || block.readUInt16BE(0) % 31 !== 0) {
    throw new SpdyProtocolError('header block without zlib header');
  }
  if ((block.readUInt8(1) & 0x20) === 0) return { bytes: 2, window: Buffer.alloc(0) };
  if (block.length < 6 || block.readUInt32BE(2) !== DICTIONARY_ID) {
    throw new SpdyProtocolError('header block with an unknown dictionary');
  }
  return { bytes: 6, window: DICTIONARY };
}

function inflateText(deflated: Buffer, window: Buffer): Buffer {
  try {
    return inflateRawSync(deflated, {
      ...(window.length > 0 && { dictionary: window }),
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: MAX_HEADER_TEXT,
    });
  } catch (error: unknown) {
    throw new SpdyProtocolError('header block cannot be inflated', { cause: error });
  }
}

/** Count, then length and text of each name and value, lengths 32 bits. */
function parseHeaders(text: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let offset = 0;
  const length = (): number => {
    if (offset + 4 > text.length) throw new SpdyProtocolError('header block ends early');
    offset += 4;
    return text.readUInt32BE(offset - 4);
  };
  const string = (): string => {
    const bytes = length();
    if (offset + bytes > text.length) throw new SpdyProtocolError('header block ends early');
    offset += bytes;
    return text.toString('utf8', offset - bytes, offset);
  };
  for (let left = length(); left > 0; left--) {
    const name = string().toLowerCase();
    if (headers.has(name)) throw new SpdyProtocolError('header given twice');
    headers.set(name, string());
  }
  if (offset !== text.length) throw new SpdyProtocolError('header block longer than its headers');
  return headers;
}

/*
 * The header block of our replies: no headers, so a constant; a stored deflate block needs no compressor. The
 * flush marker at its end (an empty stored block) is not optional: without it a Go peer reads the first reply only.
 */
const STORED_ZERO_HEADERS = '000400fbff00000000';
const FLUSH = '000000ffff';
export const FIRST_REPLY_BLOCK: Buffer = Buffer.from(`7801${STORED_ZERO_HEADERS}${FLUSH}`, 'hex');
export const NEXT_REPLY_BLOCK: Buffer = Buffer.from(STORED_ZERO_HEADERS + FLUSH, 'hex');
