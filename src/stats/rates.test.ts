import { expect, it } from 'vitest';
import { Rates } from './rates.ts';

const SECOND = 1e9;

function read(nanos: number, timeMs: number, key = 'a') {
  return { key, nanos, timeMs };
}

it('needs two readings, and then speaks of the time between them', () => {
  const rates = new Rates();
  rates.update([read(0, 0)]);
  expect(rates.get('a')).toBeUndefined();
  rates.update([read(5 * SECOND, 10_000)]);
  expect(rates.get('a')).toBe(0.5 * SECOND);
  rates.update([read(5 * SECOND, 20_000)]);
  expect(rates.get('a')).toBe(0);
});

it.each([
  ['a counter that went back', read(1 * SECOND, 20_000)],
  ['a clock that went back', read(9 * SECOND, 5_000)],
])('begins anew after %s', (_, next) => {
  const rates = new Rates();
  rates.update([read(0, 0)]);
  rates.update([read(5 * SECOND, 10_000)]);
  rates.update([next]);
  expect(rates.get('a')).toBeUndefined();
  rates.update([read(next.nanos + SECOND, next.timeMs + 10_000)]);
  expect(rates.get('a')).toBe(0.1 * SECOND);
});

it('does not judge by readings that are close together', () => {
  const rates = new Rates();
  rates.update([read(0, 0)]);
  rates.update([read(5 * SECOND, 10_000)]);
  rates.update([read(5.5 * SECOND, 10_100)]);
  expect(rates.get('a')).toBe(0.5 * SECOND);
  rates.update([read(6 * SECOND, 11_000)]);
  expect(rates.get('a')).toBe(SECOND);
});

it('forgets what is no longer read', () => {
  const rates = new Rates();
  rates.update([read(0, 0), read(0, 0, 'b')]);
  rates.update([read(SECOND, 10_000), read(SECOND, 10_000, 'b')]);
  rates.update([read(SECOND, 20_000)]);
  expect(rates.get('b')).toBeUndefined();
  rates.update([read(SECOND, 30_000), read(2 * SECOND, 30_000, 'b')]);
  expect(rates.get('b')).toBeUndefined();
});
