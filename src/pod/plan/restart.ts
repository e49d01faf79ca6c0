import type { Backoff } from './memory.ts';

/** First crash-loop delay (reference 2.4); the first restart itself is immediate. */
const BACKOFF_BASE_MS = 10_000;
/** A clock that was not touched for this long before the exit starts anew (reference 2.4: 600 s). */
const BACKOFF_EXPIRY_MS = 600_000;

function expired(backoff: Backoff | undefined, finishedAtMs: number): backoff is undefined {
  return backoff === undefined || finishedAtMs - backoff.updatedAtMs > BACKOFF_EXPIRY_MS;
}

/** When a container that ended at `finishedAtMs` may start again; undefined means at once. */
export function restartAtMs(backoff: Backoff | undefined, finishedAtMs: number): number | undefined {
  return expired(backoff, finishedAtMs) ? undefined : finishedAtMs + backoff.delayMs;
}

/** The clock after a restart: 10 s, doubled at each further one, at most `maxMs`. */
export function nextBackoff(backoff: Backoff | undefined, finishedAtMs: number, nowMs: number, maxMs: number): Backoff {
  const base = Math.min(BACKOFF_BASE_MS, maxMs);
  return { delayMs: expired(backoff, finishedAtMs) ? base : Math.min(backoff.delayMs * 2, maxMs), updatedAtMs: nowMs };
}
