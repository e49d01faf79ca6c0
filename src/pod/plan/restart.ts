import type { Backoff } from './memory.ts';
import { incarnations, type Snapshot, stopKey } from './snapshot.ts';

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

/**
 * The exit from which the crash-loop clock counts for the next start of a container; undefined: it starts at once. A container that
 * a probe has given up is killed and started again in one go, so its own end only counts where it came within the back-off of the
 * run before: the kubelet decides by what it saw before the kill (reference 2.4).
 */
export function backoffFromMs({ observed, memory }: Snapshot, name: string): number | undefined {
  const [last] = incarnations(observed, name);
  if (last?.state.status !== 'exited') return undefined;
  const finishedAtMs = last.state.finishedAt.getTime();
  const cause = memory.stops.get(stopKey(name, last.attempt))?.restart;
  if (cause === undefined) return finishedAtMs;
  // Another definition has a clock of its own.
  if (cause.type === 'changed' || cause.exitBeforeMs === undefined) return undefined;
  const atMs = restartAtMs(memory.backoffs.get(name), cause.exitBeforeMs);
  return atMs !== undefined && finishedAtMs < atMs ? finishedAtMs : cause.exitBeforeMs;
}
