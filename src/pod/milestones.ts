import type { ContainerStatus, PodStatus } from '../model/pod.ts';

/** Told of what happens to pods, for metrics (reference 14.2). Seconds are seconds. */
export interface PodObserver {
  turn(operation: 'create' | 'update' | 'sync' | 'kill' | 'terminated', seconds: number, failed: boolean): void;
  workerStarted(seconds: number, containers: number): void;
  orphanFound(): void;
  rejected(reason: string): void;
  podRunning(start: { readonly sinceSeen: number; readonly sinceCreated: number; readonly pulling: number }): void;
  sandboxMade(ok: boolean): void;
  containerStarted(type: string, code?: string): void;
  containerEnded(type: string, exitCode: number, reason: string): void;
}

export interface Milestones {
  /** Containers that have ended since. */
  readonly ended: readonly { readonly type: string; readonly exitCode: number; readonly reason: string }[];
  /** The pod runs for the first time. */
  readonly running: boolean;
}

/** What the step from one status to the next says about the life of the pod; each thing is found once. */
export function milestones(before: PodStatus, after: PodStatus): Milestones {
  const ended = LISTS.flatMap(([list, type]) =>
    (after[list] ?? []).flatMap((status) => {
      const known = ends(before[list]?.find(({ name }) => name === status.name));
      return [...ends(status).values()]
        .filter(({ containerID }) => !known.has(containerID ?? ''))
        .map(({ exitCode, reason = '' }) => ({ type, exitCode, reason }));
    }),
  );
  const ran = before.phase === 'Running' || before.phase === 'Succeeded' || before.phase === 'Failed';
  const running = (after.containerStatuses ?? []).every(({ state }) => state?.running !== undefined);
  return { ended, running: !ran && after.phase === 'Running' && running };
}

const LISTS = [
  ['containerStatuses', 'container'],
  ['initContainerStatuses', 'init_container'],
  ['ephemeralContainerStatuses', 'ephemeral_container'],
] as const;

type Ended = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

/** Of the runs that a status tells of, those that have ended, by container id. */
function ends(status: ContainerStatus | undefined): Map<string, Ended> {
  const all = [status?.state?.terminated, status?.lastState?.terminated].filter((one) => one !== undefined);
  return new Map(all.map((one) => [one.containerID ?? '', one]));
}
