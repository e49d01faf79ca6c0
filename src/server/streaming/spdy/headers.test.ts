import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants, createDeflate, createInflate, deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DICTIONARY, FIRST_REPLY_BLOCK, HeaderInflater, MAX_HEADER_TEXT, NEXT_REPLY_BLOCK } from './headers.ts';
import { SpdyProtocolError } from './protocol-error.ts';
import { ClientFrames } from './testing/client-frames.ts';

function inflateAll(...blocks: string[]): Record<string, string>[] {
  const inflater = new HeaderInflater();
  return blocks.map((block) => Object.fromEntries(inflater.inflate(Buffer.from(block, 'hex'))));
}

function headerText(pairs: readonly (readonly [string, string])[]): Buffer {
  const number = (value: number): Buffer => {
    const buffer = Buffer.alloc(4);
    buffer.writeUInt32BE(value);
    return buffer;
  };
  const strings = pairs.flat().map((text) => Buffer.concat([number(Buffer.byteLength(text)), Buffer.from(text)]));
  return Buffer.concat([number(pairs.length), ...strings]);
}

/** zlib as a client uses it: one stream, flushed after each block. */
class Compressor {
  readonly #deflate = createDeflate({ dictionary: DICTIONARY });

  async block(text: Buffer): Promise<Buffer> {
    const pieces: Buffer[] = [];
    const onData = (piece: Buffer): void => void pieces.push(piece);
    this.#deflate.on('data', onData);
    this.#deflate.write(text);
    await new Promise<void>((resolve) => this.#deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    this.#deflate.off('data', onData);
    return Buffer.concat(pieces);
  }

  [Symbol.dispose](): void {
    this.#deflate.destroy();
  }
}

describe('the dictionary', () => {
  it('is the 1423 bytes of SPDY/3', () => {
    expect(DICTIONARY).toHaveLength(1423);
    expect(createHash('sha256').update(DICTIONARY).digest('hex')).toBe(
      '51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02',
    );
  });
});

describe('header blocks captured from kubectl', () => {
  it('exec', () => {
    expect(
      inflateAll(
        '78f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff',
        'c22e555c92929907000000ffff',
        'c22ac5565c92925f5a02000000ffff',
        'c229975a5404000000ffff',
      ),
    ).toEqual([{ streamtype: 'error' }, { streamtype: 'stdin' }, { streamtype: 'stdout' }, { streamtype: 'stderr' }]);
  });

  it('port-forward', () => {
    expect(
      inflateAll(
        '78f9e3c6a7c202253a703a2b294a4dcc851625aca9a0808614cb45e01c60696060c0c0c0c0590489c64c50f2663400000000ffff',
        'c2aa19540e2512d60b000000ffff',
      ),
    ).toEqual([
      { streamtype: 'error', port: '9000', requestid: '0' },
      { streamtype: 'data', port: '9000', requestid: '0' },
    ]);
  });
});

describe('inflating', () => {
  it('follows a zlib stream far beyond its window', async () => {
    using compressor = new Compressor();
    const inflater = new HeaderInflater();
    for (let round = 0; round < 300; round++) {
      const pairs = [
        ['requestid', String(round)],
        ['noise', createHash('sha512').update(String(round)).digest('hex').repeat(2)],
      ] as const;
      const headers = inflater.inflate(await compressor.block(headerText(pairs)));
      expect([...headers]).toEqual(pairs);
    }
  });

  it('gives back what any client compressed', async () => {
    const name = fc.stringMatching(/^[a-z-]{1,20}$/);
    const block = fc.uniqueArray(fc.tuple(name, fc.string({ unit: 'grapheme', maxLength: 2000 })), {
      selector: ([key]) => key,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(block, { maxLength: 8 }), async (blocks) => {
        using compressor = new Compressor();
        const inflater = new HeaderInflater();
        for (const pairs of blocks) {
          expect([...inflater.inflate(await compressor.block(headerText(pairs)))]).toEqual(pairs);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('lowers the case of names only', () => {
    const block = new ClientFrames().headerBlock(headerText([['StreamType', 'STDIN']]));
    expect([...new HeaderInflater().inflate(block)]).toEqual([['streamtype', 'STDIN']]);
  });
});

describe('hostile header blocks', () => {
  const refused = (block: Buffer): void => {
    expect(() => new HeaderInflater().inflate(block)).toThrow(SpdyProtocolError);
  };

  it('a bomb is stopped at the limit', () => {
    const bomb = deflateRawSync(Buffer.alloc(64 << 20), { finishFlush: constants.Z_SYNC_FLUSH });
    expect(bomb.length).toBeLessThan(1 << 20);
    const before = process.memoryUsage().rss;
    for (let round = 0; round < 20; round++) refused(Buffer.concat([Buffer.from('7801', 'hex'), bomb]));
    expect(process.memoryUsage().rss - before).toBeLessThan(50 << 20);
  });

  it('text up to the limit is taken', async () => {
    using compressor = new Compressor();
    const value = 'x'.repeat(MAX_HEADER_TEXT - 13);
    const block = await compressor.block(headerText([['a', value]]));
    expect(new HeaderInflater().inflate(block).get('a')).toBe(value);
  });

  it.each([
    ['nothing', ''],
    ['no zlib header', 'ffff00'],
    ['another dictionary', '78f900000001'],
    ['a dictionary id cut off', '78f9e3c6'],
    ['no deflate data', '7801'],
    ['a bad deflate block', '780107'],
  ])('%s', (_, block) => {
    refused(Buffer.from(block, 'hex'));
  });

  it.each([
    ['a count without headers', '00000001'],
    ['four billion headers', 'ffffffff'],
    ['a name longer than the text', '00000001 00000005 61'],
    ['a value longer than the text', '00000001 00000001 61 7fffffff 62'],
    ['text after the headers', '00000000 00'],
    ['a header twice', '00000002 00000001 61 00000001 62 00000001 41 00000001 62'],
  ])('%s', (_, text) => {
    refused(new ClientFrames().headerBlock(Buffer.from(text.replaceAll(' ', ''), 'hex')));
  });
});

describe('the blocks of our replies', () => {
  it('are one zlib stream in which each block is readable at once', async () => {
    const inflate = createInflate();
    for (const block of [FIRST_REPLY_BLOCK, NEXT_REPLY_BLOCK, NEXT_REPLY_BLOCK]) {
      const data = once(inflate, 'data');
      inflate.write(block);
      expect(await data).toEqual([Buffer.alloc(4)]);
    }
    inflate.destroy();
  });
});
