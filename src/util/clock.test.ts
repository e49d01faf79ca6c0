import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from './clock.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const THOUSAND_DAYS_MS = 1_000 * 24 * 3_600_000;

it('a time that is too long for a timer of the machine is cut, it does not become none at all', async () => {
  const fired: string[] = [];
  const cancel = systemClock.timer(THOUSAND_DAYS_MS, () => fired.push('timer'));
  const stop = new AbortController();
  const slept = systemClock.sleep(THOUSAND_DAYS_MS, { signal: stop.signal }).then(
    () => fired.push('sleep'),
    () => fired.push('aborted'),
  );
  await vi.advanceTimersByTimeAsync(24 * 24 * 3_600_000);
  expect(fired).toEqual([]);
  cancel();
  stop.abort();
  await slept;
  expect(fired).toEqual(['aborted']);
  expect(vi.getTimerCount()).toBe(0);
});
