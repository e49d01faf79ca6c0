import { withJitter } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { ApiUnreachable, KubeError } from './errors.ts';

/** Of the kubelet's questions about users and tokens (reference 11.12). */
const FIRST_DELAY_MS = 500;
const FACTOR = 1.5;
const JITTER = 0.2;
const TRIES = 5;

export interface RetryDeps {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** Asks again where the failure may pass by itself; rejects with the last failure. */
export async function askWithRetries<T>(ask: () => Promise<T>, { clock, random, signal }: RetryDeps): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (tries === TRIES || signal.aborted || !mayPass(error)) throw error;
      await clock.sleep(withJitter(FIRST_DELAY_MS * FACTOR ** (tries - 1), JITTER, random), { signal });
    }
  }
}

/** A connection that was cut, an overloaded or broken server; not one that refuses connections, nor one that says no. */
function mayPass(error: unknown): boolean {
  if (error instanceof KubeError) {
    const { status, reason, retryAfterMs } = error;
    return [429, 500, 504].includes(status) || reason === 'ServerTimeout' || retryAfterMs !== undefined;
  }
  if (!(error instanceof ApiUnreachable)) return false;
  const { cause } = error;
  return cause instanceof Error && 'code' in cause && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE');
}
