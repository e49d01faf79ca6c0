import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cutInto } from '../shared/testing/cut.ts';
import { StreamFrames, type StreamPiece } from './stream-frames.ts';

function frame(type: number, data: string | Buffer): Buffer {
  const content = Buffer.from(data as string);
  const header = Buffer.alloc(8);
  header[0] = type;
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
}

function texts(pieces: readonly StreamPiece[]): string[] {
  return pieces.map(({ stream, data }) => `${stream} ${data.toString()}`);
}

describe('the framed output of a command', () => {
  it('is told apart by stream, in order', () => {
    const frames = new StreamFrames();
    const bytes = Buffer.concat([frame(1, 'out'), frame(2, 'err'), frame(1, 'more'), frame(3, 'engine')]);
    expect(texts(frames.push(bytes))).toEqual(['stdout out', 'stderr err', 'stdout more', 'engine engine']);
    expect(frames.midFrame).toBe(false);
  });

  it('comes in one piece where small frames of one stream follow each other', () => {
    const bytes = Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(1, ''), frame(1, 'c'), frame(2, 'd')]);
    expect(texts(new StreamFrames().push(bytes))).toEqual(['stdout abc', 'stderr d']);
  });

  it('is handed on before its frame is complete, whatever length the frame claims', () => {
    const frames = new StreamFrames();
    const header = Buffer.from([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    expect(texts(frames.push(Buffer.concat([header, Buffer.from('begin')])))).toEqual(['stdout begin']);
    expect(texts(frames.push(Buffer.from('next')))).toEqual(['stdout next']);
    expect(frames.midFrame).toBe(true);
  });

  it('gives the same bytes however it is cut', () => {
    const part = fc.record({ type: fc.constantFrom(1, 2), data: fc.uint8Array({ maxLength: 40 }) });
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.array(fc.nat(60), { maxLength: 12 }), (parts, cuts) => {
        const bytes = Buffer.concat(parts.map(({ type, data }) => frame(type, Buffer.from(data))));
        const frames = new StreamFrames();
        const pieces = cutInto(bytes, cuts).flatMap((chunk) => frames.push(chunk));
        for (const [type, stream] of [
          [1, 'stdout'],
          [2, 'stderr'],
        ] as const) {
          const got = Buffer.concat(pieces.filter((piece) => piece.stream === stream).map(({ data }) => data));
          expect(got).toEqual(
            Buffer.concat(parts.filter((each) => each.type === type).map(({ data }) => Buffer.from(data))),
          );
        }
        expect(frames.midFrame).toBe(false);
      }),
    );
  });

  it('is refused when it is something else, without a crash for any bytes', () => {
    expect(() => new StreamFrames().push(Buffer.from('HTTP/1.1 200 OK\r\n'))).toThrow('not framed');
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 6 }), (chunks) => {
        const frames = new StreamFrames();
        try {
          for (const chunk of chunks) frames.push(Buffer.from(chunk));
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
    );
  });
});
