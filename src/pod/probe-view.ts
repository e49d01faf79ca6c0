import type { ObservedPod, PodUid } from '../../providers/contract/index.ts';
import type { ProbeFailure, ProbeStore } from '../model/stores.ts';
import type { ProbeView } from '../status/containers.ts';
import { type HookStates, mayRun, stopKey } from './plan/snapshot.ts';

/** What the status wants to know of one pod's probes. */
export function probeView(probes: ProbeStore, uid: PodUid): ProbeView {
  return {
    started: (container, attempt) => probes.started(uid, container, attempt),
    ready: (container, attempt) => probes.ready(uid, container, attempt),
  };
}

/** Running incarnations that are to be killed for their health, by `name#attempt`. */
export function unhealthyContainers(
  probes: ProbeStore,
  observed: ObservedPod | undefined,
): ReadonlyMap<string, ProbeFailure> {
  const failures = new Map<string, ProbeFailure>();
  if (observed === undefined) return failures;
  for (const container of observed.containers) {
    if (!mayRun(container)) continue;
    const failure = probes.failure(observed.pod.uid, container.name, container.attempt);
    if (failure !== undefined) failures.set(stopKey(container.name, container.attempt), failure);
  }
  return failures;
}

/** Running incarnations whose startup probe, if they have one, has succeeded; by `name#attempt`. */
export function startedContainers(probes: ProbeStore, observed: ObservedPod | undefined): ReadonlySet<string> {
  const started = new Set<string>();
  if (observed === undefined) return started;
  const { uid } = observed.pod;
  for (const { name, attempt, state } of observed.containers)
    if (state.status === 'running' && probes.started(uid, name, attempt)) started.add(stopKey(name, attempt));
  return started;
}

/**
 * The pod as its status shows it: the kubelet does not look at a container before its hook after the start is done (reference 2.11).
 */
export function withoutStarting(
  observed: ObservedPod | undefined,
  hooks: ReadonlyMap<string, HookStates>,
): ObservedPod | undefined {
  if (observed === undefined || hooks.size === 0) return observed;
  const containers = observed.containers.filter(
    ({ name, attempt, state }) =>
      state.status !== 'running' || hooks.get(stopKey(name, attempt))?.postStart !== 'running',
  );
  return containers.length === observed.containers.length ? observed : { ...observed, containers };
}
