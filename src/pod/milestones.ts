import type { ContainerStatus, PodStatus } from '../model/pod.ts';

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
