import type { VolumeSpec } from '../../../providers/contract/index.ts';
import type { Rejection } from '../../model/intent.ts';
import type { PodStatus } from '../../model/pod.ts';
import type { RestartCause } from './actions.ts';

/**
 * What a worker knows beyond the stores and may forget in a crash: then back-off clocks start again at 10 s and a stop is
 * asked for once more, as the real kubelet does (reference 17.1). Where a pod stands is never kept here: that is observed.
 */
export interface PodMemory {
  readonly admission?: Admission;
  /** The status computed last; base of transition times and of everything that the backend has forgotten. */
  readonly status?: PodStatus;
  /** Why the sandbox could not be made, and when to try again. */
  readonly sandbox?: StartFailure;
  /** Failures of the last attempt to start a container, by container name. */
  readonly starts: ReadonlyMap<string, StartFailure>;
  /** Milliseconds spent on images so far. */
  readonly pullMs: number;
  /** Crash-loop clocks by container name (reference 2.4). */
  readonly backoffs: ReadonlyMap<string, Backoff>;
  /** Stops under way, by `name#attempt`. */
  readonly stops: ReadonlyMap<string, PendingStop>;
  /** Messages of ended incarnations as far as they are read, by `name#attempt`; empty: there is none. */
  readonly messages: ReadonlyMap<string, string>;
  /** Volumes as the backend has them; undefined before this process has filled them once. */
  readonly volumes?: readonly VolumeSpec[];
  /** Some volume content may be outdated (an object changed, or the process is new). */
  readonly volumesDirty: boolean;
  /** Why the pod is over although its containers are not (reference 2.9). */
  readonly override?: { readonly reason: string; readonly message: string };
  /** The API server has seen the pod stopped, but not ended yet. */
  readonly stoppedShown?: true;
  /** The terminal status is acknowledged by the API server. */
  readonly finalWritten: boolean;
  /** When the final delete of the API object was answered. */
  readonly deletedAtMs?: number;
  /** After a failed refresh of volume content: not before this. */
  readonly refreshNotBeforeMs?: number;
  /** Earliest next try of whatever failed as a whole (backend or API server away). */
  readonly retry?: { readonly failures: number; readonly atMs: number };
}

type Admission = { readonly type: 'accepted' } | { readonly type: 'rejected'; readonly rejection: Rejection };

export interface StartFailure {
  /** Incarnation that was to be made; absent for a sandbox. */
  readonly attempt?: number;
  /** Waiting reason of the container status (reference 1.5). */
  readonly reason: string;
  readonly message: string;
  readonly failures: number;
  readonly retryAtMs: number;
}

export interface Backoff {
  readonly delayMs: number;
  readonly updatedAtMs: number;
  /** Exit for which the BackOff event was emitted and CrashLoopBackOff is shown. */
  readonly shownForMs?: number;
}

export interface PendingStop {
  readonly deadlineMs: number;
  readonly graceSeconds: number;
  /** When the kill was asked for. */
  readonly killedAtMs?: number;
  readonly restart?: RestartCause;
  /** The stop signal is not sent yet: a hook runs, or others have to stop first. Both are part of the grace period (reference 2.10). */
  readonly held?: true;
}

export const EMPTY_MEMORY: PodMemory = {
  starts: new Map(),
  pullMs: 0,
  backoffs: new Map(),
  stops: new Map(),
  messages: new Map(),
  volumesDirty: true,
  finalWritten: false,
};

/** The machine's clock was set back: everything that was to happen at some time happens as much earlier. */
export function setBack(memory: PodMemory, byMs: number): PodMemory {
  const { sandbox, starts, backoffs, stops, retry, deletedAtMs, refreshNotBeforeMs } = memory;
  const move = (atMs: number): number => atMs - byMs;
  const moveFailure = (failure: StartFailure): StartFailure => ({ ...failure, retryAtMs: move(failure.retryAtMs) });
  return {
    ...memory,
    ...(sandbox && { sandbox: moveFailure(sandbox) }),
    starts: mapValues(starts, moveFailure),
    backoffs: mapValues(backoffs, (backoff) => ({ ...backoff, updatedAtMs: move(backoff.updatedAtMs) })),
    stops: mapValues(stops, ({ killedAtMs, ...stop }) => ({
      ...stop,
      deadlineMs: move(stop.deadlineMs),
      ...(killedAtMs !== undefined && { killedAtMs: move(killedAtMs) }),
    })),
    ...(retry && { retry: { ...retry, atMs: move(retry.atMs) } }),
    ...(deletedAtMs !== undefined && { deletedAtMs: move(deletedAtMs) }),
    ...(refreshNotBeforeMs !== undefined && { refreshNotBeforeMs: move(refreshNotBeforeMs) }),
  };
}

function mapValues<Value>(map: ReadonlyMap<string, Value>, change: (value: Value) => Value): Map<string, Value> {
  return new Map([...map].map(([key, value]) => [key, change(value)]));
}

export function withEntry<Value>(
  map: ReadonlyMap<string, Value>,
  key: string,
  value: Value | undefined,
): ReadonlyMap<string, Value> {
  const copy = new Map(map);
  if (value === undefined) copy.delete(key);
  else copy.set(key, value);
  return copy;
}
