import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTar, type TarEntry, writeTar } from './tar.ts';

const name = fc.stringMatching(/^[a-zA-Z0-9._-]{1,80}$/).filter((text) => text !== '.' && text !== '..');
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
const common = { path, mode: fc.nat({ max: 0o7777 }), uid: fc.nat(), gid: fc.nat() };
const entry: fc.Arbitrary<TarEntry> = fc.oneof(
  fc.record({ ...common, type: fc.constant('file' as const), data: fc.uint8Array({ maxLength: 1500 }) }),
  fc.record({ ...common, type: fc.constant('directory' as const) }),
  fc.record({ ...common, type: fc.constant('symlink' as const), target: path }),
);

describe('an archive', () => {
  it('is read back as it was written, long names and large numbers included', () => {
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 6 }), (entries) => {
        const read = readTar(writeTar(entries, 1_700_000_000));
        const plain = read.map((seen) => (seen.type === 'file' ? { ...seen, data: Uint8Array.from(seen.data) } : seen));
        expect(plain).toEqual(entries);
      }),
    );
  });

  it('is one that tar itself understands', () => {
    const long = `${'d'.repeat(90)}/${'f'.repeat(90)}`;
    const archive = writeTar(
      [
        { type: 'directory', path: 'vol', mode: 0o1777 },
        { type: 'file', path: long, mode: 0o600, uid: 1000, gid: 2000, data: Buffer.from('hello') },
        { type: 'symlink', path: 'vol/..data', mode: 0o777, target: '..2026' },
      ],
      0,
    );
    const listing = execFileSync('tar', ['--numeric-owner', '-tv'], { input: archive, encoding: 'utf8' });
    expect(listing).toMatch(/^drwxrwxrwt 0\/0 .* vol\/$/m);
    expect(listing).toMatch(new RegExp(`^-rw------- 1000/2000 +5 .* ${long}$`, 'm'));
    expect(listing).toMatch(/^lrwxrwxrwx 0\/0 .* vol\/\.\.data -> \.\.2026$/m);
  });
});
