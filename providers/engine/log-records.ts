import type { LogRecord } from '../contract/index.ts';

/**
 * The engine's log stream, cut into records. Push parsers: bytes in, finished records out, at most one message in memory.
 * The engine splits a line at 16 KiB into messages of their own, each with its timestamp; a message that does not end in a
 * newline is continued by the next one of its stream.
 */
export interface LogParser {
  push(chunk: Uint8Array): readonly LogRecord[];
  /** What is left when the stream ends. */
  end(): readonly LogRecord[];
}

const NEWLINE = 0x0a;
const SPACE = 0x20;
const FRAME_HEADER = 8;
/** Far above what the engine sends (16 KiB, a timestamp and a newline). */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const ENGINE_SPLITS_AT = 16 * 1024;
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d) $/;
/** "2026-01-02T15:04:05.123456789Z " and the longest form with an offset. */
const MAX_STAMP = 36;

/** Without a terminal each message comes in a frame: one byte of stream, three of nothing, four of length. */
export class FramedLogParser implements LogParser {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): readonly LogRecord[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    const records: LogRecord[] = [];
    while (this.#rest.length >= FRAME_HEADER) {
      const type = this.#rest[0] ?? 0;
      const length = this.#rest.readUInt32BE(4);
      if (type > 3 || length > MAX_MESSAGE_BYTES) throw new Error('the log stream is not framed as it should be');
      if (this.#rest.length < FRAME_HEADER + length) break;
      const payload = this.#rest.subarray(FRAME_HEADER, FRAME_HEADER + length);
      this.#rest = this.#rest.subarray(FRAME_HEADER + length);
      // Stream 3 is the engine speaking of an error of its own.
      if (type === 3) throw new Error(payload.toString('utf8').trim());
      const record = recordOf(payload, type === 2 ? 'stderr' : 'stdout');
      if (record !== undefined) records.push(record);
    }
    // A copy, so that a small rest does not keep a large chunk alive.
    this.#rest = Buffer.from(this.#rest);
    return records;
  }

  /** A frame that was cut off is not a record. */
  end(): readonly LogRecord[] {
    this.#rest = Buffer.alloc(0);
    return [];
  }
}

function recordOf(message: Buffer, stream: LogRecord['stream']): LogRecord | undefined {
  const space = message.indexOf(SPACE);
  if (space < 0) return undefined;
  const partial = message[message.length - 1] !== NEWLINE;
  const line = message.subarray(space + 1, partial ? message.length : message.length - 1);
  return { time: message.toString('latin1', 0, space), stream, line: Uint8Array.from(line), partial };
}

/** With a terminal there are no frames: messages follow each other, and only their timestamps and newlines show where. */
export class TerminalLogParser implements LogParser {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): readonly LogRecord[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    const records: LogRecord[] = [];
    for (;;) {
      const cut = this.#messageEnd();
      if (cut === undefined) break;
      const record = recordOf(this.#rest.subarray(0, cut), 'stdout');
      this.#rest = this.#rest.subarray(cut);
      if (record !== undefined) records.push(record);
    }
    this.#rest = Buffer.from(this.#rest);
    return records;
  }

  end(): readonly LogRecord[] {
    const record = recordOf(this.#rest, 'stdout');
    this.#rest = Buffer.alloc(0);
    return record === undefined ? [] : [record];
  }

  /** undefined: more bytes are needed to tell. */
  #messageEnd(): number | undefined {
    const space = this.#rest.indexOf(SPACE);
    if (space < 0) return undefined;
    const body = space + 1;
    const newline = this.#rest.indexOf(NEWLINE, body);
    const split = body + ENGINE_SPLITS_AT;
    if (newline >= 0 && newline < split) return newline + 1;
    if (this.#rest.length < split + MAX_STAMP && newline < 0) return undefined;
    // The engine splits at exactly this length; a timestamp follows where it did.
    const after = this.#rest.toString('latin1', split, split + MAX_STAMP);
    if (STAMP.test(after.slice(0, after.indexOf(' ') + 1))) return split;
    if (newline >= 0) return newline + 1;
    return this.#rest.length > MAX_MESSAGE_BYTES ? this.#rest.length : undefined;
  }
}
