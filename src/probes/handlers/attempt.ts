import { isProviderError } from '../../../providers/contract/index.ts';

/** What came of asking once (kubelet: probe.Result and the error beside it). */
export type Attempt =
  | { readonly type: 'success' }
  /** Counts as success, with an event. */
  | { readonly type: 'warning'; readonly output: string }
  | { readonly type: 'failure'; readonly output: string }
  /** The question itself went wrong: thrown away after an event, whatever `state` says there. */
  | { readonly type: 'errored'; readonly state: 'unknown' | 'failure'; readonly message: string }
  /** The backend could not be asked: nothing is known, nothing is told. */
  | { readonly type: 'away'; readonly error: Error };

export const SUCCESS: Attempt = { type: 'success' };

/** The most that is read of what a probe's target says (kubelet: 10 KB for commands and for bodies). */
export const MAX_OUTPUT_BYTES = 10 * 1024;

export function failure(output: string): Attempt {
  return { type: 'failure', output };
}

export function errored(message: string, state: 'unknown' | 'failure' = 'unknown'): Attempt {
  return { type: 'errored', state, message };
}

/** An error that says nothing of the target: the transport to the backend is dead. */
export function isAway(error: unknown): error is Error {
  return isProviderError(error) && error.outage;
}
