import type { ObservedContainer } from '../../../providers/contract/index.ts';
import { type Container, isTerminalPhase, type Pod } from '../../model/pod.ts';
import { restartsOnFailure, shouldRestart } from '../../model/restart.ts';
import { type Action, earliest, type Plan, plan, type RestartCause } from './actions.ts';
import { backoffFromMs, restartAtMs } from './restart.ts';
import { incarnations, mayRun, nextAttempt, type Snapshot, statusOf, stopKey, volumesDueAtMs } from './snapshot.ts';
import { afterStop, type StopCause, stopContainer, stopContainers } from './stop.ts';

/** Dead incarnations kept per container, for lastState and `logs --previous` (reference 7.9). */
const KEEP_DEAD = 1;
/**
 * An exit is shown as such for a quarter of the delay, at most this long, before the status turns to CrashLoopBackOff: the
 * kubelet's next sync, which finds the back-off, comes about that late.
 */
const SHOW_EXIT_MS = 2_500;
/** How soon a sandbox that is going away is looked at again when no hint comes. */
const STOPPING_POLL_MS = 1_000;

/** One step for a backend that runs containers one by one. Pure: same input, same output. */
export function planContainers(snapshot: Snapshot): Plan {
  const { pod, stop, memory } = snapshot;
  if (pod === undefined || stop !== undefined || memory.admission?.type === 'rejected') return planEnd(snapshot);
  if (isTerminalPhase(statusOf(snapshot).phase)) return planEnd(snapshot);
  const wanted = pod.spec.containers.map((container) => assess(snapshot, pod, container));
  // A container that a probe has given up and that may not restart takes the pod along when it was the last one.
  if (wanted.every(endsWithIt)) return planEnd(snapshot);
  return planRun(snapshot, pod, wanted);
}

function endsWithIt(need: Need): boolean {
  return need.type === 'done' || (need.type === 'stop' && need.cause.restart === undefined);
}

type Need =
  | { readonly type: 'keep' }
  /** Runs from an outdated definition, or a probe has given it up: it is stopped, and mostly started anew (reference 0.3, 4.3). */
  | {
      readonly type: 'stop';
      readonly container: ObservedContainer;
      readonly graceSeconds: number;
      readonly cause: StopCause;
    }
  | { readonly type: 'done' }
  | {
      readonly type: 'start';
      readonly container: string;
      readonly attempt: number;
      readonly last: ObservedContainer | undefined;
    };

/** What one container needs (reference 2.1, 2.2), leaving aside when. */
function assess(snapshot: Snapshot, pod: Pod, container: Container): Need {
  const last = incarnations(snapshot.observed, container.name)[0];
  const { name } = container;
  if (last === undefined) {
    // Known to have ended before although the backend forgot it: a finished container must not run twice.
    const ended = statusOf(snapshot).containerStatuses?.find((status) => status.name === name)?.state?.terminated;
    if (ended && !shouldRestart(pod, container, ended.exitCode)) return { type: 'done' };
    return { type: 'start', container: name, attempt: nextAttempt(snapshot, name), last };
  }
  switch (last.state.status) {
    case 'running':
    case 'waiting':
    case 'unknown':
      return (mayRun(last) ? assessRunning(snapshot, pod, container, last) : undefined) ?? { type: 'keep' };
    case 'created':
      return { type: 'start', container: name, attempt: last.attempt, last };
    case 'exited':
      if (restartCause(snapshot, last) === undefined && !shouldRestart(pod, container, last.state.exitCode))
        return { type: 'done' };
      return { type: 'start', container: name, attempt: nextAttempt(snapshot, name), last };
  }
}

/** Undefined: it goes on. */
function assessRunning(snapshot: Snapshot, pod: Pod, container: Container, last: ObservedContainer): Need | undefined {
  const { name } = container;
  const podGrace = pod.spec.terminationGracePeriodSeconds ?? 0;
  const pending = snapshot.memory.stops.get(stopKey(name, last.attempt));
  if (pending !== undefined) {
    // What was begun goes on, also when its reason is gone meanwhile.
    const { graceSeconds, restart } = pending;
    return { type: 'stop', container: last, graceSeconds, cause: restart === undefined ? {} : { restart } };
  }
  if (snapshot.changed.has(name)) {
    const why = `Container ${name} definition changed, will be restarted`;
    return { type: 'stop', container: last, graceSeconds: podGrace, cause: { why, restart: { type: 'changed' } } };
  }
  const failure = snapshot.unhealthy.get(stopKey(name, last.attempt));
  if (failure === undefined) return undefined;
  const why = `Container ${name} failed ${failure.probe} probe`;
  const restarts = restartsOnFailure(pod, container);
  const before = incarnations(snapshot.observed, name)[1]?.state;
  const exitBefore = before?.status === 'exited' ? { exitBeforeMs: before.finishedAt.getTime() } : {};
  return {
    type: 'stop',
    container: last,
    graceSeconds: failure.graceSeconds ?? podGrace,
    cause: restarts ? { why: `${why}, will be restarted`, restart: { type: 'unhealthy', ...exitBefore } } : { why },
  };
}

/** We stopped it only to start it again, whatever its policy says about exits. */
function restartCause({ memory }: Snapshot, { name, attempt }: ObservedContainer): RestartCause | undefined {
  return memory.stops.get(stopKey(name, attempt))?.restart;
}

function planEnd(snapshot: Snapshot): Plan {
  const { observed, pod, stop } = snapshot;
  const stops = stopContainers(snapshot);
  if (stops.actions.length > 0 || observed?.containers.some(mayRun)) return plan(stops.actions, stops.wakeAtMs);
  const outdated = pod === undefined || stop !== undefined ? [] : prune(snapshot, pod);
  if (outdated.length > 0) return plan(outdated);
  if (observed?.state === 'pending' && observed.containers.length === 0) {
    // A sandbox that was never finished, or volumes that a cut-off removal left: nothing to stop, and nothing worth keeping.
    return stop === undefined ? plan([{ type: 'removeSandbox' }]) : afterStop(snapshot, 'removeSandbox');
  }
  if (observed !== undefined && observed.state !== 'stopped') return plan([{ type: 'stopSandbox' }]);
  return afterStop(snapshot, 'removeSandbox');
}

function planRun(snapshot: Snapshot, pod: Pod, needs: readonly Need[]): Plan {
  const { observed, nowMs } = snapshot;
  if (observed?.state !== 'ready') return planSandbox(snapshot, needs);
  const actions: Action[] = [];
  let wakeAtMs: number | undefined;
  const refreshAtMs = volumesDueAtMs(snapshot);
  if (refreshAtMs !== undefined && nowMs >= refreshAtMs) actions.push({ type: 'refreshVolumes' });
  else wakeAtMs = refreshAtMs;
  const add = (step: { readonly actions: readonly Action[]; readonly wakeAtMs?: number | undefined }): void => {
    actions.push(...step.actions);
    wakeAtMs = earliest(wakeAtMs, step.wakeAtMs);
  };
  // What is to end does not wait for the images of others, which may take minutes (kubelet: SyncPod kills first).
  for (const need of needs)
    if (need.type === 'stop') add(stopContainer(snapshot, need.container, need.graceSeconds, need.cause));
  for (const need of needs) if (need.type === 'start') add(planStart(snapshot, need));
  actions.push(...prune(snapshot, pod));
  return plan(actions, wakeAtMs);
}

function planStart(snapshot: Snapshot, need: Extract<Need, { type: 'start' }>): Plan {
  const { memory, nowMs } = snapshot;
  const { container, attempt, last } = need;
  const finishedAtMs = backoffFromMs(snapshot, container);
  if (finishedAtMs !== undefined) {
    const backoff = memory.backoffs.get(container);
    const atMs = restartAtMs(backoff, finishedAtMs);
    if (atMs !== undefined && nowMs < atMs) {
      if (backoff?.shownForMs === finishedAtMs) return plan([], atMs);
      const showAtMs = Math.min(finishedAtMs + SHOW_EXIT_MS, finishedAtMs + (atMs - finishedAtMs) / 4);
      return nowMs < showAtMs ? plan([], showAtMs) : plan([{ type: 'showBackOff', container, finishedAtMs }], atMs);
    }
  }
  const failure = memory.starts.get(container);
  // A start that left a container behind waits by the crash-loop clock above; other failures have a time of their own.
  const leftBehind = last?.state.status === 'exited' && failure?.attempt === last.attempt;
  if (failure !== undefined && !leftBehind && nowMs < failure.retryAtMs) return plan([], failure.retryAtMs);
  return plan([
    { type: 'pullImage', container },
    { type: 'startContainer', container, attempt },
  ]);
}

/** No sandbox that containers could join (reference 2.13). */
function planSandbox(snapshot: Snapshot, needs: readonly Need[]): Plan {
  const { observed, memory, nowMs } = snapshot;
  if (memory.sandbox !== undefined && nowMs < memory.sandbox.retryAtMs) return plan([], memory.sandbox.retryAtMs);
  if (observed === undefined) return plan([{ type: 'ensureSandbox', attempt: 0, replaces: false }]);
  if (observed.state === 'stopping') return plan([], nowMs + STOPPING_POLL_MS);
  if (observed.state === 'pending')
    return plan([{ type: 'ensureSandbox', attempt: observed.attempt, replaces: false }]);
  // The sandbox ended under its containers. Whatever still runs has lost its network: it stops first, then everything that may
  // restart does so in a new sandbox. What may not restart simply ends.
  const stops = stopContainers(snapshot);
  if (stops.actions.length > 0 || observed.containers.some(mayRun)) return plan(stops.actions, stops.wakeAtMs);
  if (!needs.some((need) => need.type === 'start')) return planEnd(snapshot);
  return plan([{ type: 'ensureSandbox', attempt: observed.attempt + 1, replaces: true }]);
}

/**
 * Dead incarnations beyond the newest dead one. As on the kubelet, the log of the one before is gone once the next one has ended
 * (oracle case 004); while a container waits or runs, the newest dead one is the one before.
 */
function prune({ observed }: Snapshot, pod: Pod): readonly Action[] {
  return pod.spec.containers.flatMap(({ name }) =>
    incarnations(observed, name)
      .filter(({ state }) => state.status === 'exited')
      .slice(KEEP_DEAD)
      .map(({ attempt }) => ({ type: 'removeContainer', container: name, attempt }) as const),
  );
}
