/**
 * Why a pod must stop, whatever its spec says. One-way: a later intent may only shorten the grace period (reference 2.10).
 *  - delete: the API object has a deletionTimestamp
 *  - removed: the API object is gone (force delete), or the backend has a pod that the API server does not know
 */
export type StopIntent =
  | { readonly type: 'delete'; readonly graceSeconds: number }
  | { readonly type: 'removed'; readonly graceSeconds: number };

/** A pod that never runs here: phase Failed, `reason`, message `Pod was rejected: <message>` (reference 6.3). */
export interface Rejection {
  readonly reason: string;
  readonly message: string;
}
