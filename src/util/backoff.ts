/** First and longest delay, in milliseconds. */
export interface BackoffPolicy {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Delay before try number `failures` + 1: base × 2^(failures − 1), at most max; 0 when nothing has failed yet. Monotone, no jitter. */
export function backoffDelayMs(policy: BackoffPolicy, failures: number): number {
  if (failures <= 0) return 0;
  return Math.min(policy.maxMs, policy.baseMs * 2 ** Math.min(failures - 1, 30));
}

/** Adds up to `fraction` of the delay, so that many clients do not retry in step. `random` is in [0, 1). */
export function withJitter(delayMs: number, fraction: number, random: () => number): number {
  return delayMs * (1 + fraction * random());
}
