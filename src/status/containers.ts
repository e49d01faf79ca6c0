import type { ObservedContainer, ObservedPod } from '../../providers/contract/index.ts';
import type { Container, ContainerStatus, Pod, PodStatus } from '../model/pod.ts';
import { isSidecar, shouldRestart } from '../model/restart.ts';
import { LOST_AFTER_INIT, LOST_AT_END, LOST_WHILE_RUNNING, toApiState } from './container-state.ts';

/** What the probes say of an incarnation that is running; without probes both are true. */
export interface ProbeView {
  started(container: string, attempt: number): boolean;
  ready(container: string, attempt: number): boolean;
}

export interface WaitingReason {
  readonly reason: string;
  readonly message?: string;
}

export interface ContainersInput {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly previous: PodStatus;
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly probes: ProbeView;
  /** Scheme of container ids; known whenever something has been observed. */
  readonly runtimeName: string;
  readonly terminating: boolean;
}

export type ContainerStatuses = Pick<
  PodStatus,
  'initContainerStatuses' | 'containerStatuses' | 'ephemeralContainerStatuses'
>;

type Kind = 'main' | 'init' | 'ephemeral';

/** Every container of the spec always has an entry; main and ephemeral ones sorted by name, init ones in spec order (reference 1.4). */
export function containerStatuses(input: ContainersInput): ContainerStatuses {
  const { spec } = input.pod;
  const { previous } = input;
  const main = spec.containers.map((container) => statusOf(input, container, 'main', previous.containerStatuses));
  const init = (spec.initContainers ?? []).map((container) =>
    statusOf(input, container, 'init', previous.initContainerStatuses),
  );
  const ephemeral = (spec.ephemeralContainers ?? []).map((container) =>
    statusOf(input, container, 'ephemeral', previous.ephemeralContainerStatuses),
  );
  return {
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: main.sort(byName),
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral.sort(byName) }),
  };
}

function byName(a: ContainerStatus, b: ContainerStatus): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function statusOf(
  input: ContainersInput,
  container: Container,
  kind: Kind,
  before: readonly ContainerStatus[] | undefined,
): ContainerStatus {
  const old = before?.find((status) => status.name === container.name);
  const seen = (input.observed?.containers ?? [])
    .filter((observed) => observed.name === container.name)
    .sort((a, b) => b.attempt - a.attempt || b.createdAt.getTime() - a.createdAt.getTime());
  const [newest, second] = seen;
  let status =
    newest === undefined ? unseen(input, container, kind, old) : fromObserved(input, container, newest, second, old);
  status = withStartFailure(input, container, kind, newest, status);
  if (old !== undefined && leavesTerminatedIllegally(input.pod, container, kind, old, status)) return old;
  return withReadiness(input, container, kind, newest, status);
}

/** Nothing of this container is on the backend: never made, or made and forgotten since. */
function unseen(
  input: ContainersInput,
  container: Container,
  kind: Kind,
  old: ContainerStatus | undefined,
): ContainerStatus {
  // The API server remembers an end that the backend has forgotten (reference 17.1.4).
  if (old?.state?.terminated !== undefined) return old;
  const status: ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: defaultWaitingReason(input.pod) } },
    lastState: old?.lastState ?? {},
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    ...(old?.lastState?.terminated === undefined ? {} : identity(old)),
    ...(keptMounts(old) ?? volumeMounts(container)),
  };
  if (kind === 'init' && !isSidecar(container) && anyMainSeen(input)) {
    return { ...status, state: { terminated: LOST_AFTER_INIT } };
  }
  if (old?.state?.running === undefined || status.lastState?.terminated !== undefined) return status;
  // It was running and is gone. Without a last state the pod would look as if it had never started.
  const deleted = input.pod.metadata.deletionTimestamp !== undefined;
  return {
    ...status,
    lastState: { terminated: LOST_WHILE_RUNNING },
    restartCount: status.restartCount + (deleted ? 0 : 1),
  };
}

function fromObserved(
  input: ContainersInput,
  container: Container,
  newest: ObservedContainer,
  second: ObservedContainer | undefined,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const containerID = `${input.runtimeName}://${newest.id}`;
  const current = currentState(input.pod, newest, containerID, old);
  return {
    name: container.name,
    state: current.state,
    lastState: lastState(input, newest, containerID, second, old),
    ready: false,
    restartCount: current.restartCount,
    image: newest.image,
    imageID: newest.imageId ?? '',
    containerID,
    ...resources(container),
    ...(keptMounts(old) ?? volumeMounts(container)),
  };
}

function currentState(pod: Pod, newest: ObservedContainer, containerID: string, old: ContainerStatus | undefined) {
  // Never lowered: an incarnation may be numbered lower after the backend has lost the ones before (reference 1.4).
  const restartCount = Math.max(newest.attempt, old?.restartCount ?? 0);
  if (newest.state.status !== 'unknown') {
    const state = toApiState(newest.state, containerID, pod);
    // Another container after an end that was already counted is one restart more.
    const another = old?.state?.terminated !== undefined && old.containerID !== containerID;
    const again = state.running !== undefined && another && old.restartCount >= newest.attempt;
    return { state, restartCount: again ? restartCount + 1 : restartCount };
  }
  if (old?.state?.running !== undefined) {
    return { state: { terminated: LOST_AT_END }, restartCount: Math.max(newest.attempt, old.restartCount + 1) };
  }
  // Already counted as lost: asking again must not change the answer.
  if (old?.state?.terminated !== undefined && old.containerID === containerID)
    return { state: old.state, restartCount };
  return { state: { waiting: {} }, restartCount };
}

/** The end of the run before: as the backend remembers it, else as the last status has it. */
function lastState(
  input: ContainersInput,
  newest: ObservedContainer,
  containerID: string,
  second: ObservedContainer | undefined,
  old: ContainerStatus | undefined,
): NonNullable<ContainerStatus['lastState']> {
  const kept = old?.lastState?.terminated === undefined ? {} : { terminated: old.lastState.terminated };
  const same = old?.containerID === containerID;
  // The loss of this very run may have moved there.
  if (newest.state.status === 'unknown' && same && kept.terminated !== undefined) return kept;
  if (second?.state.status === 'exited') {
    return toApiState(second.state, `${input.runtimeName}://${second.id}`, input.pod);
  }
  return old?.state?.terminated !== undefined && !same ? { terminated: old.state.terminated } : kept;
}

/** A container that should start and could not, or may not yet, is waiting; its end moves to lastState (reference 1.5). */
function withStartFailure(
  input: ContainersInput,
  container: Container,
  kind: Kind,
  newest: ObservedContainer | undefined,
  status: ContainerStatus,
): ContainerStatus {
  const failure = input.waiting.get(container.name);
  if (failure === undefined || !startsNext(input, container, kind, newest, status)) return status;
  const { reason, message } = failure;
  return {
    ...status,
    state: { waiting: { reason, ...(message === undefined ? {} : { message }) } },
    lastState:
      status.state?.terminated === undefined ? (status.lastState ?? {}) : { terminated: status.state.terminated },
  };
}

function startsNext(
  input: ContainersInput,
  container: Container,
  kind: Kind,
  newest: ObservedContainer | undefined,
  status: ContainerStatus,
): boolean {
  const { pod, terminating } = input;
  if (terminating || pod.metadata.deletionTimestamp !== undefined) return false;
  // Once a main container exists, no plain init container runs again (reference 2.6.3).
  if (kind === 'init' && !isSidecar(container) && anyMainSeen(input)) return false;
  const seen = newest?.state.status;
  if (seen === 'running' || seen === 'waiting') return false;
  const ended = status.state?.terminated;
  // Never made, made but not started, or out of sight.
  if (ended === undefined || seen === 'unknown') return true;
  if (kind === 'ephemeral' || (kind === 'init' && ended.exitCode === 0)) return false;
  return shouldRestart(pod, container, ended.exitCode);
}

/** A terminated container whose policy forbids a restart stays terminated, whatever the backend says (reference 1.5, last line). */
function leavesTerminatedIllegally(
  pod: Pod,
  container: Container,
  kind: Kind,
  old: ContainerStatus,
  next: ContainerStatus,
): boolean {
  const ended = old.state?.terminated;
  if (ended === undefined || next.state?.terminated !== undefined) return false;
  return kind === 'ephemeral' || !shouldRestart(pod, container, ended.exitCode);
}

/** `started` and `ready` (reference 1.4); an ephemeral container has neither. */
function withReadiness(
  input: ContainersInput,
  container: Container,
  kind: Kind,
  newest: ObservedContainer | undefined,
  status: ContainerStatus,
): ContainerStatus {
  if (kind === 'ephemeral') return status;
  const attempt = newest?.attempt ?? 0;
  const running = status.state?.running !== undefined;
  const started = running && input.probes.started(container.name, attempt);
  if (kind === 'init' && !isSidecar(container)) {
    return { ...status, started, ready: status.state?.terminated?.exitCode === 0 };
  }
  return { ...status, started, ready: started && input.probes.ready(container.name, attempt) };
}

function defaultWaitingReason(pod: Pod): string {
  return (pod.spec.initContainers?.length ?? 0) > 0 ? 'PodInitializing' : 'ContainerCreating';
}

function anyMainSeen(input: ContainersInput): boolean {
  const names = new Set(input.pod.spec.containers.map(({ name }) => name));
  return input.observed?.containers.some(({ name }) => names.has(name)) ?? false;
}

/** Both appear once the backend knows the container; `resources` even when it is empty (reference 1.4). */
function resources(container: Container): Pick<ContainerStatus, 'resources' | 'allocatedResources'> {
  const requests = container.resources?.requests;
  const some = requests !== undefined && Object.keys(requests).length > 0;
  return { ...(some ? { allocatedResources: requests } : {}), resources: container.resources ?? {} };
}

/** A container between two runs is still the one that ended, also for a backend that has dropped it meanwhile. */
function identity(old: ContainerStatus): Partial<ContainerStatus> {
  const { containerID, image, imageID, resources, allocatedResources } = old;
  if (containerID === undefined) return {};
  return {
    containerID,
    image,
    imageID,
    ...(resources === undefined ? {} : { resources }),
    ...(allocatedResources === undefined ? {} : { allocatedResources }),
  };
}

type Mounts = Pick<ContainerStatus, 'volumeMounts'>;

/** Written once and then kept (reference 1.4). */
function keptMounts(old: ContainerStatus | undefined): Mounts | undefined {
  return old?.volumeMounts === undefined ? undefined : { volumeMounts: old.volumeMounts };
}

function volumeMounts(container: Container): Mounts {
  const mounts = container.volumeMounts ?? [];
  if (mounts.length === 0) return {};
  return {
    volumeMounts: mounts.map(({ name, mountPath, readOnly }) => ({
      name,
      mountPath,
      // No backend offers recursive read-only mounts.
      ...(readOnly === true ? { readOnly, recursiveReadOnly: 'Disabled' } : {}),
    })),
  };
}
