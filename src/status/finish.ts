import type { ContainerStatus, Pod } from '../model/pod.ts';
import { isSidecar } from '../model/restart.ts';
import { LOST_AT_END } from './container-state.ts';
import type { ContainerStatuses } from './containers.ts';

/**
 * The last word on every container of a pod that has ended: one without a terminated state is lost, except what never got as
 * far as being started (reference 1.10.2).
 */
export function withLostContainers(pod: Pod, statuses: ContainerStatuses): ContainerStatuses {
  const { containerStatuses: main = [], initContainerStatuses: init = [] } = statuses;
  const reached = hasInitialized(pod, init, main);
  const tried = triedInit(init);
  return {
    ...statuses,
    containerStatuses: main.map((status) => (reached ? ended(status) : status)),
    ...(init.length === 0
      ? {}
      : { initContainerStatuses: init.map((status, index) => (index < tried ? ended(status) : status)) }),
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  return status.state?.terminated === undefined ? { ...status, state: { terminated: LOST_AT_END } } : status;
}

/** Whether main containers had their turn. */
function hasInitialized(pod: Pod, init: readonly ContainerStatus[], main: readonly ContainerStatus[]): boolean {
  const last = pod.spec.initContainers?.at(-1);
  if (last === undefined) return true;
  if (main.some((status) => status.lastState?.terminated !== undefined || status.state?.waiting === undefined))
    return true;
  const status = init.find(({ name }) => name === last.name);
  if (isSidecar(last)) return status?.state?.running !== undefined && status.started === true;
  return status?.state?.terminated?.exitCode === 0 || status?.lastState?.terminated?.exitCode === 0;
}

/** Number of leading init containers that were started, or at least attempted: the first one always counts. */
function triedInit(init: readonly ContainerStatus[]): number {
  const last = init.findLastIndex(
    (status) => status.state?.waiting === undefined || status.lastState?.terminated !== undefined,
  );
  return Math.max(1, last + 1);
}
