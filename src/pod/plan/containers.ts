import { containerStatus, findContainer, podContainers } from '../../model/containers.ts';
import { isTerminalPhase, type Pod, restartPolicy } from '../../model/pod.ts';
import { type Action, earliest, type Plan, plan } from './actions.ts';
import { type InitPlan, planInit } from './init.ts';
import { assessMain, endsWithIt, type Need, type StartNeed, startNeed } from './need.ts';
import { backoffFromMs, restartAtMs } from './restart.ts';
import { incarnations, mayRun, type Snapshot, statusOf, stopKey, volumesDueAtMs } from './snapshot.ts';
import { afterStop, stopContainer, stopContainers } from './stop.ts';

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
  if (memory.override !== undefined || isTerminalPhase(statusOf(snapshot).phase)) return planEnd(snapshot);
  const main = pod.spec.containers.map((container) => assessMain(snapshot, pod, container));
  const init = planInit(snapshot, pod);
  // A container that a probe has given up and that may not restart takes the pod along when it was the last one. Sidecars do not
  // keep a pod alive (reference 2.6.7).
  if (init.failed || main.every(endsWithIt)) return planEnd(snapshot);
  return planRun(snapshot, pod, init, main);
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

function planRun(snapshot: Snapshot, pod: Pod, init: InitPlan, main: readonly Need[]): Plan {
  const { observed, nowMs } = snapshot;
  if (observed?.state !== 'ready') return planSandbox(snapshot, pod, main);
  const actions: Action[] = [];
  let wakeAtMs: number | undefined;
  const refreshAtMs = volumesDueAtMs(snapshot);
  if (refreshAtMs !== undefined && nowMs >= refreshAtMs) actions.push({ type: 'refreshVolumes' });
  else wakeAtMs = refreshAtMs;
  // The kubelet waits for the hook after a start before it does anything else about the pod.
  if (inPostStart(snapshot)) return plan(actions, wakeAtMs);
  const needs = [...assessEphemeral(snapshot, pod), ...init.needs, ...(init.initialized ? main : [])];
  const add = (step: { readonly actions: readonly Action[]; readonly wakeAtMs?: number | undefined }): void => {
    actions.push(...step.actions);
    wakeAtMs = earliest(wakeAtMs, step.wakeAtMs);
  };
  // What is to end does not wait for the images of others, which may take minutes (kubelet: SyncPod kills first).
  for (const need of needs)
    if (need.type === 'stop') add(stopContainer(snapshot, need.container, need.graceSeconds, need.cause));
  for (const need of needs) {
    if (need.type !== 'start') continue;
    const step = planStart(snapshot, need);
    add(step);
    // Those after it start when its hook is done.
    if (step.actions.some(isStart) && hasPostStart(pod, need.container)) break;
  }
  actions.push(...prune(snapshot, pod));
  return plan(actions, wakeAtMs);
}

function isStart({ type }: Action): boolean {
  return type === 'startContainer';
}

function hasPostStart(pod: Pod, name: string): boolean {
  return findContainer(pod, name)?.container.lifecycle?.postStart !== undefined;
}

function inPostStart({ observed, hooks }: Snapshot): boolean {
  const running = (observed?.containers ?? []).filter(mayRun);
  return running.some(({ name, attempt }) => hooks.get(stopKey(name, attempt))?.postStart === 'running');
}

/** Ephemeral containers start once, whatever becomes of them, and do not wait for the init sequence (reference 2.7). */
function assessEphemeral(snapshot: Snapshot, pod: Pod): readonly Need[] {
  return (pod.spec.ephemeralContainers ?? []).flatMap(({ name }) => {
    const last = incarnations(snapshot.observed, name)[0];
    const known = containerStatus(statusOf(snapshot), name)?.state;
    const began = known?.running !== undefined || known?.terminated !== undefined;
    if (last === undefined ? began : last.state.status !== 'created') return [];
    return [startNeed(snapshot, name, last)];
  });
}

function planStart(snapshot: Snapshot, need: StartNeed): Plan {
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
function planSandbox(snapshot: Snapshot, pod: Pod, needs: readonly Need[]): Plan {
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
  // Whatever ran once does not run again in another sandbox under the policy Never (reference 2.13).
  const once = restartPolicy(pod) === 'Never' && observed.containers.length > 0;
  if (once || !needs.some((need) => need.type === 'start')) return planEnd(snapshot);
  // Init containers run again from the first one on: what is left of them would say that they are done (reference 2.6.5).
  const purged = (pod.spec.initContainers ?? []).flatMap(({ name }) =>
    incarnations(observed, name).map(({ attempt }) => ({ type: 'removeContainer', container: name, attempt }) as const),
  );
  if (purged.length > 0) return plan(purged);
  return plan([{ type: 'ensureSandbox', attempt: observed.attempt + 1, replaces: true }]);
}

/**
 * Dead incarnations beyond the newest dead one. As on the kubelet, the log of the one before is gone once the next one has ended
 * (oracle case 004); while a container waits or runs, the newest dead one is the one before.
 */
function prune({ observed }: Snapshot, pod: Pod): readonly Action[] {
  return podContainers(pod).flatMap(({ container: { name } }) =>
    incarnations(observed, name)
      .filter(({ state }) => state.status === 'exited')
      .slice(KEEP_DEAD)
      .map(({ attempt }) => ({ type: 'removeContainer', container: name, attempt }) as const),
  );
}
