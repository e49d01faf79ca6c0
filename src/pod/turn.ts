import { findContainer } from '../model/containers.ts';
import type { Container, Pod } from '../model/pod.ts';
import type { NodeFacts } from '../model/stores.ts';
import { type PodMemory, withEntry } from './plan/memory.ts';
import { nextBackoff } from './plan/restart.ts';
import type { Snapshot } from './plan/snapshot.ts';

/** What an executor sees and changes while it runs the actions of one plan. */
export interface Turn {
  readonly snapshot: Snapshot;
  readonly signal: AbortSignal;
  memory: PodMemory;
  /** Containers whose chain of steps failed in this pass: what follows for them is skipped. */
  readonly blocked: Set<string>;
  /** Containers that were started in this pass, as `name#attempt`. */
  readonly started: Set<string>;
  /** The worker has nothing left to do, ever. */
  forgotten: boolean;
}

/** Every action but stops and removals is planned for pods that the API server knows. */
export function podOf({ pod, uid }: Snapshot): Pod {
  if (pod === undefined) throw new Error(`pod ${uid} is known to the backend only`);
  return pod;
}

/** The crash-loop clock after a start of `container` (or of the whole unit), from its last exit. */
export function advanceBackoff(turn: Turn, container: string, finishedAtMs: number | undefined, nowMs: number): void {
  if (finishedAtMs === undefined) return;
  const next = nextBackoff(turn.memory.backoffs.get(container), finishedAtMs, nowMs, turn.snapshot.maxBackoffMs);
  turn.memory = { ...turn.memory, backoffs: withEntry(turn.memory.backoffs, container, next) };
}

export function containerOf(pod: Pod, name: string): Container {
  const found = findContainer(pod, name);
  if (found === undefined) throw new Error(`the pod has no container ${name}`);
  return found.container;
}

/** `involvedObject.fieldPath` of events about one container (reference 3.1); one that the spec no longer has was a main one. */
export function containerPath(pod: Pod, name: string): string {
  return findContainer(pod, name)?.path ?? `spec.containers{${name}}`;
}

/** Addresses of a pod for its environment and its hooks; on the network of the node they are the node's (reference 10.2). */
export function addressesOf(
  { spec }: Pod,
  { snapshot }: Turn,
  { facts }: { readonly facts: () => NodeFacts | undefined },
): readonly string[] {
  return spec.hostNetwork === true ? (facts()?.hostIPs ?? []) : (snapshot.observed?.ips ?? []);
}
