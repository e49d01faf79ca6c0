import type { ContainerRef, ObservedPod } from '../../../providers/contract/index.ts';
import { containerStatus, findContainer } from '../../model/containers.ts';
import type { Pod, PodStatus } from '../../model/pod.ts';
import { podUid } from '../../model/pod.ts';

export type Selection =
  | { readonly type: 'selected'; readonly containerId: string; readonly attempt: number }
  /** Text of a 400 answer; users read it in kubectl. */
  | { readonly type: 'unavailable'; readonly message: string };

/** Which incarnation of a container `logs` shows, by the pod's status (reference 11.4; kubelet: validateContainerLogStatus). */
export function selectInstance(podName: string, container: string, podStatus: PodStatus, previous: boolean): Selection {
  const named = `container "${container}" in pod "${podName}"`;
  const unavailable = (message: string): Selection => ({ type: 'unavailable', message });
  const status = containerStatus(podStatus, container);
  if (status === undefined) return unavailable(`${named} is not available`);
  const { waiting, running, terminated } = status.state ?? {};
  const lastId = status.lastState?.terminated?.containerID ?? '';
  // The status counts the current incarnation; a last state beside a state of its own is the one before.
  const current = status.restartCount;
  const hasOwnState = running !== undefined || (terminated?.containerID ?? '') !== '';
  const last: Selection = { type: 'selected', containerId: lastId, attempt: hasOwnState ? current - 1 : current };

  if (previous) return lastId === '' ? unavailable(`previous terminated ${named} not found`) : last;
  if (running !== undefined) return { type: 'selected', containerId: status.containerID ?? '', attempt: current };
  if (terminated?.containerID) return { type: 'selected', containerId: terminated.containerID, attempt: current };
  if (terminated !== undefined || status.lastState?.terminated !== undefined) {
    return lastId === '' ? unavailable(`${named} is terminated`) : last;
  }
  if (waiting === undefined) return unavailable(`${named} is waiting to start - no logs yet`);
  return unavailable(`${named} is waiting to start: ${waitingText(waiting.reason ?? '')}`);
}

/**
 * The incarnation in the backend's terms. What the backend has is asked first; only while it has not been asked yet do we go by
 * the restart count. Undefined: it is gone there.
 */
export function findInstance(
  pod: Pod,
  container: string,
  selection: Extract<Selection, { type: 'selected' }>,
  observed: ObservedPod | undefined,
): ContainerRef | undefined {
  const uid = podUid(pod);
  if (observed === undefined) return { podUid: uid, container, attempt: selection.attempt };
  const id = selection.containerId.replace(/^[^:]*:\/\//, '');
  const found = observed.containers.find((candidate) => candidate.name === container && candidate.id === id);
  return found && { podUid: uid, container, attempt: found.attempt };
}

export function hasContainer(pod: Pod, name: string): boolean {
  return findContainer(pod, name) !== undefined;
}

function waitingText(reason: string): string {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  return reason === 'ImagePullBackOff' ? 'trying and failing to pull image' : reason;
}
