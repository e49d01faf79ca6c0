import type { ObservedContainer, ObservedPod, PodUid } from '../../../providers/contract/index.ts';
import { containerStatus } from '../../model/containers.ts';
import type { StopIntent } from '../../model/intent.ts';
import type { Pod, PodStatus } from '../../model/pod.ts';
import type { ProbeFailure } from '../../model/stores.ts';
import type { PodMemory } from './memory.ts';

/** The frozen input of one planning step. Nothing here changes while a plan is made. */
export interface Snapshot {
  readonly uid: PodUid;
  /** Last known API object, kept after its removal; undefined for a pod that only the backend knows (reference 17.1.5). */
  readonly pod: Pod | undefined;
  readonly stop: StopIntent | undefined;
  /** undefined: the backend was asked and has nothing. */
  readonly observed: ObservedPod | undefined;
  readonly memory: PodMemory;
  readonly nowMs: number;
  /** When volume content falls due for renewal (tokens). */
  readonly refreshAtMs: number | undefined;
  /** Containers whose newest incarnation was made from another image than the spec has now (reference 0.3: container hash). */
  readonly changed: ReadonlySet<string>;
  /** Running incarnations that liveness or startup probes have given up, by `name#attempt` (reference 4.3). */
  readonly unhealthy: ReadonlyMap<string, ProbeFailure>;
  /** Running sidecars that count as started, by `name#attempt`: their startup probe succeeded, if they have one (reference 2.6.1). */
  readonly started: ReadonlySet<string>;
  /** Hooks that have begun, by `name#attempt`. */
  readonly hooks: ReadonlyMap<string, HookStates>;
  /** Longest crash-loop delay (KubeletConfiguration crashLoopBackOff.maxContainerRestartPeriod). */
  readonly maxBackoffMs: number;
}

/** Where the hooks of one incarnation stand; absent: not begun. */
export interface HookStates {
  readonly postStart?: HookState;
  readonly preStop?: HookState;
  /** Why postStart failed. */
  readonly message?: string;
}

type HookState = 'running' | 'done' | 'failed';

export function statusOf(snapshot: Snapshot): PodStatus {
  return snapshot.memory.status ?? snapshot.pod?.status ?? {};
}

/** Incarnations of one container, newest first. */
export function incarnations(observed: ObservedPod | undefined, name: string): readonly ObservedContainer[] {
  return (observed?.containers ?? [])
    .filter((container) => container.name === name)
    .sort((a, b) => b.attempt - a.attempt);
}

/** A container that may still have a process: it has to be stopped before the pod can end. */
export function mayRun(container: ObservedContainer): boolean {
  return container.state.status === 'running' || container.state.status === 'unknown';
}

/**
 * Number of the next incarnation. The backend may have lost the dead ones (engine reset, pruned by hand), so the last status
 * counts too: restartCount never goes back (reference 1.4). A status without a container id already shows the next number.
 */
export function nextAttempt(snapshot: Snapshot, name: string): number {
  const seen = incarnations(snapshot.observed, name)[0]?.attempt ?? -1;
  const status = containerStatus(statusOf(snapshot), name);
  const reported = status === undefined ? 0 : status.containerID ? status.restartCount + 1 : status.restartCount;
  return Math.max(seen + 1, reported);
}

export function stopKey(name: string, attempt: number): string {
  return `${name}#${attempt}`;
}

/** When volume content has to be resolved again; undefined while nothing is due. */
export function volumesDueAtMs({ memory, nowMs, refreshAtMs }: Snapshot): number | undefined {
  const dueAtMs = memory.volumesDirty ? nowMs : refreshAtMs;
  return dueAtMs === undefined ? undefined : Math.max(dueAtMs, memory.refreshNotBeforeMs ?? 0);
}
