import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogRecord } from '../contract/index.ts';
import { cutInto } from '../shared/testing/cut.ts';
import { FramedLogParser, type LogParser, TerminalLogParser } from './log-records.ts';

const SPLIT = 16 * 1024;
const TIME = '2026-01-02T15:04:05.123456789Z';

function frame(stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

function message(record: LogRecord): Buffer {
  return Buffer.concat([Buffer.from(`${record.time} `), record.line, Buffer.from(record.partial ? '' : '\n')]);
}

function parse(parser: LogParser, chunks: readonly Buffer[]): readonly LogRecord[] {
  return [...chunks.flatMap((chunk) => parser.push(chunk)), ...parser.end()];
}

const line = fc.uint8Array({ maxLength: 300 }).map((bytes) => bytes.map((byte) => (byte === 0x0a ? 0x20 : byte)));
const time = fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') });
const stamp = fc.tuple(time, fc.nat({ max: 999_999 })).map(([date, nanos]) => {
  return `${date.toISOString().slice(0, -1)}${String(nanos).padStart(6, '0')}Z`;
});
const record: fc.Arbitrary<LogRecord> = fc.record({
  time: stamp,
  stream: fc.constantFrom('stdout' as const, 'stderr' as const),
  line,
  partial: fc.boolean(),
});

describe('a log without a terminal', () => {
  it('gives the same records wherever the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(record), fc.array(fc.nat()), (records, cuts) => {
        const frames = records.map((each) => frame(each.stream === 'stderr' ? 2 : 1, message(each)));
        expect(parse(new FramedLogParser(), cutInto(Buffer.concat(frames), cuts))).toEqual(records);
      }),
    );
  });

  it('drops a frame that was cut off', () => {
    const whole = frame(1, Buffer.from(`${TIME} hello\n`));
    const parser = new FramedLogParser();
    expect(parser.push(whole.subarray(0, whole.length - 1))).toEqual([]);
    expect(parser.end()).toEqual([]);
  });

  it("throws the engine's own error", () => {
    const broken = frame(3, Buffer.from('error grabbing logs: unexpected EOF\n'));
    expect(() => new FramedLogParser().push(broken)).toThrow('error grabbing logs: unexpected EOF');
  });

  it('does not wait for gigabytes that a broken header promises', () => {
    const header = Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    expect(() => new FramedLogParser().push(header)).toThrow('not framed');
  });
});

describe('a log with a terminal', () => {
  const long = fc
    .nat({ max: 2 * SPLIT + 100 })
    .map((length) => Uint8Array.from(Buffer.alloc(length, 'ab 2026-01-02T')));
  const row = fc.record({ time: stamp, line: fc.oneof(line, long) });

  it('gives the same records wherever the stream is cut, long lines in pieces of the size the engine splits at', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 8 }), (rows, cuts) => {
        const records = rows.flatMap((each): LogRecord[] => {
          const pieces: LogRecord[] = [];
          const common = { time: each.time, stream: 'stdout' } as const;
          let start = 0;
          // The engine hands a full buffer on at once, so a line of exactly that length ends in an empty piece.
          for (; each.line.length - start >= SPLIT; start += SPLIT)
            pieces.push({ ...common, line: each.line.slice(start, start + SPLIT), partial: true });
          return [...pieces, { ...common, line: each.line.slice(start), partial: false }];
        });
        const bytes = Buffer.concat(records.map(message));
        // As text: comparing large arrays item by item takes long.
        const text = (each: LogRecord) => ({ ...each, line: Buffer.from(each.line).toString('latin1') });
        expect(parse(new TerminalLogParser(), cutInto(bytes, cuts)).map(text)).toEqual(records.map(text));
      }),
      { numRuns: 60 },
    );
  });

  it('gives a last line without an end as partial', () => {
    const [last] = parse(new TerminalLogParser(), [Buffer.from(`${TIME} $ `)]);
    expect(last).toEqual({ time: TIME, stream: 'stdout', line: Uint8Array.from(Buffer.from('$ ')), partial: true });
  });
});
