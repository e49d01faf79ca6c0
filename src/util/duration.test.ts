import { describe, expect, it } from 'vitest';
import { formatDuration, parseDuration } from './duration.ts';

describe('durations in Go form', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['2h0m0.5s', 7_200_500],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(['', '10', 's', '10 s', '-5s', '5d', '1m 30s'])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it.each([
    [0, '0s'],
    [350, '350ms'],
    [10_000, '10s'],
    [180_000, '3m0s'],
    [185_250, '3m5.25s'],
    [3_602_500, '1h0m2.5s'],
  ])('prints %d ms as Go does', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});
