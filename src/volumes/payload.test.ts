import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FileEntry } from '../../providers/contract/index.ts';
import { type PayloadFile, revisionOf, toFiles } from './payload.ts';

const file = (text: string, more: Partial<PayloadFile> = {}): PayloadFile => ({
  mode: 0o644,
  data: Buffer.from(text),
  ...more,
});

describe('files of a volume', () => {
  it('come in a fixed order under normalised paths', () => {
    const payload = new Map([
      ['b', file('b')],
      ['dir//x/', file('x')],
      ['./a', file('a')],
    ]);
    expect(toFiles(payload).map(({ path }) => path)).toEqual(['a', 'b', 'dir/x']);
  });

  it.each(['/etc/passwd', '..', '../x', 'a/../../x', '', '.', 'a/..'])('never leave the volume: %j', (path) => {
    expect(() => toFiles(new Map([[path, file('x')]]))).toThrow('invalid path in volume');
  });

  it('may have names that only begin with dots', () => {
    expect(toFiles(new Map([['..data', file('x')]]))[0]?.path).toBe('..data');
  });
});

describe('revision', () => {
  const files: fc.Arbitrary<FileEntry[]> = fc.uniqueArray(
    fc.record({
      path: fc.stringMatching(/^[a-c]{1,3}$/),
      mode: fc.constantFrom(0o600, 0o644),
      data: fc.uint8Array({ maxLength: 3 }),
    }),
    { selector: ({ path }) => path, maxLength: 3 },
  );

  it('is equal exactly when the content is', () => {
    fc.assert(
      fc.property(files, files, (a, b) => {
        const plain = (entries: FileEntry[]): string =>
          JSON.stringify(entries.map(({ path, mode, data }) => [path, mode, [...data]]));
        expect(revisionOf(a) === revisionOf(b)).toBe(plain(a) === plain(b));
      }),
      { numRuns: 500 },
    );
  });

  it('changes with the owner of a file', () => {
    expect(revisionOf([{ path: 'a', ...file('x') }])).not.toBe(revisionOf([{ path: 'a', ...file('x', { uid: 0 }) }]));
  });
});
