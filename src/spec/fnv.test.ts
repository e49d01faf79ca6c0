import { expect, it } from 'vitest';
import { fnv32a } from './fnv.ts';

// Vectors of the FNV reference implementation, for 32-bit FNV-1a.
it.each([
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['foobar', 0xbf9cf968],
])('hashes %j', (text, expected) => {
  expect(fnv32a(text)).toBe(expected);
});
