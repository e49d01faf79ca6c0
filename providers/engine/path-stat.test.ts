import { describe, expect, it } from 'vitest';
import { parsePathStat } from './path-stat.ts';

const header = (stat: object): string => Buffer.from(JSON.stringify(stat)).toString('base64');

describe("what the engine says of a path, in Go's modes", () => {
  // As an engine 20.10 answered: /etc, /etc/passwd, /dev/null, a disk, a socket, a pipe, a link.
  it.each([
    [2147484141, 'directory'],
    [420, 'file'],
    [0x4200000 + 0o666, 'charDevice'],
    [0x4000000 + 0o660, 'blockDevice'],
    [0x1000000 + 0o755, 'socket'],
    [0x2000000 + 0o644, 'pipe'],
  ] as const)('mode %i is a %s', (mode, kind) => {
    expect(parsePathStat(header({ name: 'x', mode, linkTarget: '' }))).toEqual({ kind, target: '' });
  });

  it('a link tells where it points', () => {
    expect(parsePathStat(header({ mode: 0x8000000 + 0o777, linkTarget: '..data' }))).toEqual({
      kind: 'symlink',
      target: '..data',
    });
  });
});
