import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lines } from './lines.ts';
import { cutInto } from './testing/cut.ts';

async function* stream(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function collect(items: AsyncIterable<string>): Promise<readonly string[]> {
  const all: string[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describe('lines of a stream', () => {
  it('are the same wherever the stream is cut', async () => {
    const text = fc.array(fc.string({ unit: 'grapheme' }).map((part) => part.replace(/[\r\n]/g, '')));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat()), async (parts, cuts) => {
        const bytes = Buffer.from(parts.join('\n'));
        const read = await collect(lines(stream(cutInto(bytes, cuts)), 1_000_000));
        expect(read).toEqual(parts.filter((part) => part !== ''));
      }),
    );
  });

  it('have a greatest length', async () => {
    const endless = stream([Buffer.alloc(60, 'x'), Buffer.alloc(60, 'x')]);
    await expect(collect(lines(endless, 100))).rejects.toThrow('longer than 100 bytes');
  });
});
