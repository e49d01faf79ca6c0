import type { ObservedPod } from '../../../providers/contract/index.ts';
import { isTerminalPhase, type Pod } from '../../model/pod.ts';
import { restartsOnFailure, shouldRestart } from '../../model/restart.ts';
import { type Action, type Plan, plan } from './actions.ts';
import { restartAtMs } from './restart.ts';
import { incarnations, mayRun, type Snapshot, statusOf, stopKey, volumesDueAtMs } from './snapshot.ts';
import { afterStop, graceOf, isHurried, KILL_AGAIN_MS } from './stop.ts';

/** Key of the whole unit in memory's stop and back-off tables; not a valid container name, so it cannot meet one. */
export const UNIT = '*';

/** One step for a backend whose smallest unit is the pod. Pure. */
export function planUnit(snapshot: Snapshot): Plan {
  const { pod, stop, memory, nowMs, observed } = snapshot;
  const over =
    pod === undefined ||
    stop !== undefined ||
    memory.admission?.type === 'rejected' ||
    memory.override !== undefined ||
    isTerminalPhase(statusOf(snapshot).phase);
  if (over) return planEnd(snapshot);
  if (observed === undefined) return planLaunch(snapshot, 0);
  if (observed.state !== 'stopped') {
    const given = planGivenUp(snapshot, pod, observed);
    if (given !== undefined) return given;
    const refreshAtMs = volumesDueAtMs(snapshot);
    return refreshAtMs !== undefined && nowMs >= refreshAtMs
      ? plan([{ type: 'refreshVolumes' }])
      : plan([], refreshAtMs);
  }
  // A stopped unit of a backend that restarts containers by itself has ended for good, unless the policy is Always.
  const givenUp = memory.stops.get(stopKey(UNIT, observed.attempt))?.restart !== undefined;
  if (!givenUp && !wantsRelaunch(pod, observed)) return planEnd(snapshot);
  const finishedAtMs = lastUnitExitMs(observed) ?? nowMs;
  const backoff = memory.backoffs.get(UNIT);
  const atMs = restartAtMs(backoff, finishedAtMs);
  // Also where the backend restarts containers: a unit that it gave up must not be launched at full speed.
  if (atMs !== undefined && nowMs < atMs) {
    return plan(
      backoff?.shownForMs === finishedAtMs ? [] : [{ type: 'showBackOff', container: UNIT, finishedAtMs }],
      atMs,
    );
  }
  return planLaunch(snapshot, observed.attempt + 1);
}

function planLaunch({ memory, nowMs }: Snapshot, attempt: number): Plan {
  if (memory.sandbox !== undefined && nowMs < memory.sandbox.retryAtMs) return plan([], memory.sandbox.retryAtMs);
  return plan([{ type: 'launchPod', attempt }]);
}

/**
 * A probe has given a container up: no container of this backend can be stopped alone, so the unit stops, and is launched anew where
 * the container may restart. Undefined: nothing of the kind.
 */
function planGivenUp(snapshot: Snapshot, pod: Pod, observed: ObservedPod): Plan | undefined {
  const pending = snapshot.memory.stops.get(stopKey(UNIT, observed.attempt));
  if (pending !== undefined) return planStopUnit(snapshot, observed, pending.graceSeconds);
  const given = pod.spec.containers.flatMap((container) => {
    const last = incarnations(observed, container.name)[0];
    const failure = last && snapshot.unhealthy.get(stopKey(last.name, last.attempt));
    if (failure === undefined) return [];
    const restarts = restartsOnFailure(pod, container);
    const why = `Container ${container.name} failed ${failure.probe} probe${restarts ? ', will be restarted' : ''}`;
    return [{ name: container.name, restarts, why, grace: failure.graceSeconds ?? graceOf(snapshot) }];
  });
  if (given.length === 0) return undefined;
  const why = new Map(given.map((one) => [one.name, one.why]));
  const restarts = given.some((one) => one.restarts);
  const graceSeconds = Math.max(...given.map(({ grace }) => grace));
  return planStopUnit(snapshot, observed, graceSeconds, {
    why,
    ...(restarts && { restart: { type: 'unhealthy' as const } }),
  });
}

function planEnd(snapshot: Snapshot): Plan {
  const { observed } = snapshot;
  if (observed === undefined || observed.state === 'stopped') return afterStop(snapshot, 'removePod');
  return planStopUnit(snapshot, observed, graceOf(snapshot));
}

function planStopUnit(
  snapshot: Snapshot,
  observed: ObservedPod,
  graceSeconds: number,
  cause: Pick<Extract<Action, { type: 'stopPod' }>, 'why' | 'restart'> = {},
): Plan {
  const { memory, nowMs } = snapshot;
  const pending = memory.stops.get(stopKey(UNIT, observed.attempt));
  // The backend keeps the time of a pod-level stop; a smaller grace is passed on (contract: StopRequest).
  if (pending === undefined || isHurried(snapshot, pending, graceSeconds))
    return plan([{ type: 'stopPod', graceSeconds, ...cause }]);
  // A request that was lost on the backend's side must not keep the pod forever.
  const againAtMs = pending.deadlineMs + KILL_AGAIN_MS;
  return nowMs < againAtMs ? plan([], againAtMs) : plan([{ type: 'stopPod', graceSeconds: 0 }]);
}

function wantsRelaunch(pod: Pod, observed: ObservedPod): boolean {
  return pod.spec.containers.some((container) => {
    const last = incarnations(observed, container.name)[0];
    if (last === undefined || mayRun(last)) return true;
    return last.state.status !== 'exited' || shouldRestart(pod, container, last.state.exitCode);
  });
}

/**
 * When the last of its containers ended; a unit that ended before any of them ran counts from its creation. Earlier incarnations
 * do not count: their ends may lie in the future when the clock was set back.
 */
export function lastUnitExitMs(observed: ObservedPod | undefined): number | undefined {
  const names = new Set(observed?.containers.map(({ name }) => name));
  const exits = [...names].flatMap((name) => {
    const state = incarnations(observed, name)[0]?.state;
    return state?.status === 'exited' ? [state.finishedAt.getTime()] : [];
  });
  return exits.length === 0 ? observed?.createdAt.getTime() : Math.max(...exits);
}
