import type { ContainerState as Observed } from '../../providers/contract/index.ts';
import { type ContainerStatus, NO_TIME, type Pod, toTime } from '../model/pod.ts';

type ApiState = NonNullable<ContainerStatus['state']>;
type Terminated = NonNullable<ApiState['terminated']>;

/** Room for termination messages of one pod, shared evenly by its containers (reference 1.7). */
const MESSAGE_BYTES_PER_POD = 12_288;

const EXIT_UNKNOWN = 137;

/** A container that nobody can find any more when its pod ends (reference 1.5). */
export const LOST_AT_END: Terminated = lost('The container could not be located when the pod was terminated');

/** A container that was running when it was last seen and that the backend does not know any more (reference 1.5, 17.1.4). */
export const LOST_WHILE_RUNNING: Terminated = lost(
  'The container could not be located when the pod was deleted.  The container used to be Running',
);

/** A plain init container that the backend has forgotten: it must have succeeded, since a main container exists (reference 1.5). */
export const LOST_AFTER_INIT: Terminated = {
  exitCode: 0,
  reason: 'Completed',
  message:
    'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally',
  startedAt: NO_TIME,
  finishedAt: NO_TIME,
};

/** The state of one incarnation in the API's form. `unknown` is not here: what it means depends on the last status. */
export function toApiState(state: Exclude<Observed, { status: 'unknown' }>, containerID: string, pod: Pod): ApiState {
  switch (state.status) {
    case 'created':
      // Made but not started: the kubelet shows an empty waiting (reference 1.4).
      return { waiting: {} };
    case 'waiting':
      return { waiting: { reason: state.reason, ...(state.message === undefined ? {} : { message: state.message }) } };
    case 'running':
      return { running: { startedAt: toTime(state.startedAt.getTime()) } };
    case 'exited':
      return { terminated: toTerminated(state, containerID, pod) };
  }
}

/** `signal` stays out: a runtime behind CRI never reports it. */
function toTerminated(state: Extract<Observed, { status: 'exited' }>, containerID: string, pod: Pod): Terminated {
  const message = cutMessage(state.message ?? '', pod);
  return {
    exitCode: state.exitCode,
    reason: state.reason ?? exitReason(state.exitCode, state.oomKilled),
    ...(message === '' ? {} : { message }),
    // A container that never ran started at the epoch, as CRI's zero says.
    startedAt: toTime(state.startedAt?.getTime() ?? 0),
    finishedAt: toTime(state.finishedAt.getTime()),
    containerID,
  };
}

function exitReason(exitCode: number, oomKilled: boolean): string {
  if (oomKilled) return 'OOMKilled';
  return exitCode === 0 ? 'Completed' : 'Error';
}

function cutMessage(message: string, pod: Pod): string {
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const share = Math.floor(
    MESSAGE_BYTES_PER_POD / Math.max(1, containers.length + initContainers.length + ephemeralContainers.length),
  );
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= share) return message;
  // `stream` holds back a character that the cut has split.
  return new TextDecoder().decode(bytes.subarray(0, share), { stream: true });
}

function lost(message: string): Terminated {
  return {
    exitCode: EXIT_UNKNOWN,
    reason: 'ContainerStatusUnknown',
    message,
    startedAt: NO_TIME,
    finishedAt: NO_TIME,
  };
}
