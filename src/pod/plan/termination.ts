import type { ObservedContainer } from '../../../providers/contract/index.ts';
import { findContainer, podContainers } from '../../model/containers.ts';
import type { Pod } from '../../model/pod.ts';
import { incarnations, mayRun, type Snapshot, stopKey } from './snapshot.ts';

/**
 * Whether a container that is to stop has to wait for others: a sidecar for all main containers and all sidecars after it, so that
 * what they need is there to their end (reference 2.10). Plain init containers and main ones wait for nobody.
 */
export function waitsForOthers({ observed, pod }: Snapshot, name: string): boolean {
  if (pod === undefined) return false;
  const all = podContainers(pod);
  const index = all.findIndex(({ container }) => container.name === name);
  if (all[index]?.role !== 'sidecar') return false;
  const before = all.slice(index + 1).filter(({ role }) => role === 'main' || role === 'sidecar');
  return before.some(({ container }) => incarnations(observed, container.name).some(mayRun));
}

/** The hook that runs before the stop signal (reference 2.11). */
export function hasPreStop(pod: Pod | undefined, name: string): boolean {
  return pod !== undefined && findContainer(pod, name)?.container.lifecycle?.preStop !== undefined;
}

/** Its hook before the stop still runs. */
export function inPreStop({ hooks }: Snapshot, { name, attempt }: ObservedContainer): boolean {
  return hooks.get(stopKey(name, attempt))?.preStop === 'running';
}
