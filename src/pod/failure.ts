import { isProviderError } from '../../providers/contract/index.ts';
import { backoffDelayMs, withJitter } from '../util/backoff.ts';
import type { StartFailure } from './plan/memory.ts';

/** A failed step is tried again after 10 s plus up to half of that (reference 16.1). */
const RETRY_MS = 10_000;
/** Mount problems: 500 ms doubled up to 2 m 2 s (reference 9.1). */
const MOUNT_RETRY = { baseMs: 500, maxMs: 122_000 };

/** True where the whole turn has to wait: nothing is known about this one pod (contract: ProviderError.outage). */
export function isOutage(error: unknown): boolean {
  return isProviderError(error) && error.outage;
}

interface FailureInput {
  readonly reason: string;
  readonly message: string;
  readonly previous: StartFailure | undefined;
  readonly nowMs: number;
  readonly random: () => number;
  readonly attempt?: number;
}

export function startFailure({ reason, message, previous, nowMs, random, attempt }: FailureInput): StartFailure {
  const failures = (previous?.failures ?? 0) + 1;
  return {
    reason,
    message,
    failures,
    retryAtMs: nowMs + withJitter(RETRY_MS, 0.5, random),
    ...(attempt === undefined ? {} : { attempt }),
  };
}

export function mountFailure({
  reason,
  message,
  previous,
  nowMs,
}: Omit<FailureInput, 'random' | 'attempt'>): StartFailure {
  const failures = (previous?.failures ?? 0) + 1;
  return { reason, message, failures, retryAtMs: nowMs + backoffDelayMs(MOUNT_RETRY, failures) };
}
