import { expect, it } from 'vitest';
import { globMatches } from './glob.ts';

it.each([
  ['a', 'a', true],
  ['', '', true],
  ['*', '', true],
  ['*', 'anything', true],
  ['reg*', 'registry', true],
  ['*ry', 'registry', true],
  ['*ry', 'registries', false],
  ['r*g*y', 'registry', true],
  ['**', 'x', true],
  ['reg-?', 'reg-1', true],
  ['reg-?', 'reg-', false],
  ['a.c', 'abc', false],
  ['[0-3]', '2', true],
  ['[0-3]', '7', false],
  ['[^0-3]', '7', true],
  ['x[abc]*', 'xb9', true],
  ['reg[', 'reg[', true],
  ['reg[', 'reg1', false],
  ['reg[9-0]', 'reg1', false],
  ['a+(b)', 'a+(b)', true],
])('%s for %s: %s', (glob, text, matches) => {
  expect(globMatches(glob, text)).toBe(matches);
});

it('ends soon whatever the pattern: patterns come from tenants', () => {
  const before = performance.now();
  expect(globMatches('*a'.repeat(31), `${'a'.repeat(62)}b`)).toBe(false);
  expect(performance.now() - before).toBeLessThan(1_000);
});
