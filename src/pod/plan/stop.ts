import type { ObservedContainer } from '../../../providers/contract/index.ts';
import { isTerminalPhase } from '../../model/pod.ts';
import { type Action, earliest, type Plan, type RestartCause } from './actions.ts';
import type { PendingStop } from './memory.ts';
import { mayRun, type Snapshot, statusOf, stopKey } from './snapshot.ts';
import { hasPreStop, inPreStop, waitsForOthers } from './termination.ts';

/** The kubelet never gives a container less than this (reference 2.10). */
const MINIMUM_GRACE_SECONDS = 2;
/** A kill that shows no effect is asked for again after this long. */
export const KILL_AGAIN_MS = 10_000;
/** A final delete whose DELETED event does not come is sent again after this long. */
const DELETE_AGAIN_MS = 10_000;

/** Grace period of a pod that stops by itself: what its spec says. */
export function graceOf(snapshot: Snapshot): number {
  return snapshot.stop?.graceSeconds ?? snapshot.pod?.spec.terminationGracePeriodSeconds ?? MINIMUM_GRACE_SECONDS;
}

/** Asks every container that may run to stop, in parallel, and kills those whose grace period is over. */
export function stopContainers(snapshot: Snapshot): Stops {
  const running = (snapshot.observed?.containers ?? []).filter(mayRun);
  return merge(
    running.map((container) =>
      stopContainer(snapshot, container, graceOf(snapshot), {}, waitsForOthers(snapshot, container.name)),
    ),
  );
}

/** What is special about a stop of one container of a pod that goes on. */
export interface StopCause {
  /** Words of the Killing event, while it is not told yet. */
  readonly why?: string;
  readonly restart?: RestartCause;
}

/**
 * The same for one container. The hook before the stop, and waiting for others, happen within the grace period; what is left of it
 * then is for the container itself, two seconds at least (reference 2.10).
 */
export function stopContainer(
  snapshot: Snapshot,
  container: ObservedContainer,
  grace: number,
  cause: StopCause = {},
  waits = false,
): Stops {
  const { name, attempt } = container;
  const graceSeconds = Math.max(MINIMUM_GRACE_SECONDS, grace);
  const pending = snapshot.memory.stops.get(stopKey(name, attempt));
  const action = { container: name, attempt, ...cause } as const;
  if (pending === undefined) {
    const preStop = hasPreStop(snapshot.pod, name);
    if (preStop || waits) return now([{ type: 'beginStop', ...action, graceSeconds, preStop }]);
    return now([{ type: 'stopContainer', ...action, graceSeconds }]);
  }
  if (isHurried(snapshot, pending, graceSeconds)) return now([{ type: 'stopContainer', ...action, graceSeconds }]);
  if (pending.held) {
    if (snapshot.nowMs < pending.deadlineMs && (waits || inPreStop(snapshot, container)))
      return { actions: [], wakeAtMs: pending.deadlineMs };
    const left = Math.floor((pending.deadlineMs - snapshot.nowMs) / 1000);
    return now([{ type: 'stopContainer', ...action, graceSeconds: Math.max(MINIMUM_GRACE_SECONDS, left) }]);
  }
  const dueAtMs = pending.killedAtMs === undefined ? pending.deadlineMs : pending.killedAtMs + KILL_AGAIN_MS;
  if (snapshot.nowMs >= dueAtMs) return now([{ type: 'stopContainer', ...action, graceSeconds: 0 }]);
  return { actions: [], wakeAtMs: dueAtMs };
}

function now(actions: Stops['actions']): Stops {
  return { actions, wakeAtMs: undefined };
}

/**
 * Whether a stop under way is to be cut short. Only when the object is gone: a second deletion with a shorter grace period leaves
 * the first one's running on the kubelet, too (its call to the runtime is not cut; oracle case 047).
 */
export function isHurried({ stop }: Snapshot, pending: PendingStop, graceSeconds: number): boolean {
  return stop?.type === 'removed' && pending.killedAtMs === undefined && graceSeconds < pending.graceSeconds;
}

export interface Stops {
  readonly actions: readonly Extract<Action, { type: 'stopContainer' | 'beginStop' }>[];
  readonly wakeAtMs: number | undefined;
}

function merge(stops: readonly Stops[]): Stops {
  return {
    actions: stops.flatMap(({ actions }) => actions),
    wakeAtMs: earliest(...stops.map(({ wakeAtMs }) => wakeAtMs)),
  };
}

/**
 * What follows when the backend holds nothing running any more: the terminal status is acknowledged, then the backend is
 * cleaned, and only when that is *observed* the object goes. A crash between any two steps repeats, it loses nothing.
 */
export function afterStop(snapshot: Snapshot, remove: 'removeSandbox' | 'removePod'): Plan {
  const { stop, observed, memory, nowMs } = snapshot;
  if (stop === undefined) {
    // We stopped what was left of a pod that ends by itself: the kubelet shows that first, and the end at its next sync.
    return showsStopped(snapshot) ? { actions: [{ type: 'showStopped' }] } : { actions: [], finished: true };
  }
  if (stop.type === 'delete' && !memory.finalWritten)
    return { actions: [{ type: 'writeFinalStatus' }], finished: true };
  if (observed !== undefined) return { actions: [{ type: remove }], finished: true };
  if (stop.type === 'removed') return { actions: [{ type: 'forget' }], finished: true };
  // The watch tells when the object is really gone; until then it is asked for again now and then.
  const againAtMs = (memory.deletedAtMs ?? Number.NEGATIVE_INFINITY) + DELETE_AGAIN_MS;
  if (nowMs < againAtMs) return { actions: [], wakeAtMs: againAtMs, finished: true };
  return { actions: [{ type: 'deleteObject' }], finished: true };
}

function showsStopped(snapshot: Snapshot): boolean {
  const { observed, memory } = snapshot;
  if (observed === undefined || memory.stoppedShown || isTerminalPhase(statusOf(snapshot).phase)) return false;
  return [...memory.stops.values()].some(({ restart }) => restart === undefined);
}
