import type { Labels, ObservedContainer, ObservedPod, PodIdentity, PodUid } from '../../providers/contract/index.ts';
import { podContainers } from '../model/containers.ts';
import { type Container, type Pod, podUid } from '../model/pod.ts';
import { fnv32a } from './fnv.ts';

/**
 * What a kubelet knows of a unit after a restart, when it may ask the backend only: written on sandboxes and containers, read back
 * from observation (reference 0.3). A durable format (`outrigger/format: 1`): later versions read it, so names are never reused.
 */
export interface PodRecord {
  readonly pod: PodIdentity;
  readonly terminationGraceSeconds?: number;
}

export interface ContainerRecord extends PodRecord {
  readonly container: string;
  readonly restartCount: number;
  /** Of the definition that this incarnation was made from, see `containerHash`. */
  readonly hash: string;
  readonly terminationMessagePath?: string;
  readonly terminationMessagePolicy?: string;
}

const POD_NAME = 'io.kubernetes.pod.name';
const POD_NAMESPACE = 'io.kubernetes.pod.namespace';
const POD_UID = 'io.kubernetes.pod.uid';
const GRACE = 'io.kubernetes.pod.terminationGracePeriod';
const CONTAINER = 'io.kubernetes.container.name';
const RESTART_COUNT = 'io.kubernetes.container.restartCount';
const HASH = 'io.kubernetes.container.hash';
const MESSAGE_PATH = 'io.kubernetes.container.terminationMessagePath';
const MESSAGE_POLICY = 'io.kubernetes.container.terminationMessagePolicy';

export function podRecord(pod: Pod): PodRecord {
  const { name, namespace } = pod.metadata;
  const grace = pod.spec.terminationGracePeriodSeconds;
  return {
    pod: { uid: podUid(pod), namespace, name },
    ...(grace !== undefined && { terminationGraceSeconds: grace }),
  };
}

export function containerRecord(pod: Pod, container: Container, attempt: number): ContainerRecord {
  const { terminationMessagePath, terminationMessagePolicy } = container;
  return {
    ...podRecord(pod),
    container: container.name,
    restartCount: attempt,
    hash: containerHash(container),
    ...(terminationMessagePath !== undefined && { terminationMessagePath }),
    ...(terminationMessagePolicy !== undefined && { terminationMessagePolicy }),
  };
}

/** Name and image are the only fields whose change restarts a container (reference 0.3). */
export function containerHash({ name, image = '' }: Pick<Container, 'name' | 'image'>): string {
  return fnv32a(JSON.stringify({ image, name })).toString(16);
}

/** Containers whose newest incarnation was made from another definition than the spec has now. */
export function changedContainers(pod: Pod, observed: ObservedPod | undefined): ReadonlySet<string> {
  const changed = new Set<string>();
  // A plain init container is never replaced for its definition (reference 2.6).
  for (const { container, role } of podContainers(pod)) {
    if (role === 'init' || role === 'ephemeral') continue;
    const seen = observed?.containers.filter(({ name }) => name === container.name) ?? [];
    const newest = seen.reduce<ObservedContainer | undefined>(
      (a, b) => (a === undefined || b.attempt > a.attempt ? b : a),
      undefined,
    );
    const hash = newest?.labels[HASH];
    if (hash !== undefined && hash !== containerHash(container)) changed.add(container.name);
  }
  return changed;
}

export function printPodLabels({ pod, terminationGraceSeconds }: PodRecord): Labels {
  return {
    [POD_NAME]: pod.name,
    [POD_NAMESPACE]: pod.namespace,
    [POD_UID]: pod.uid,
    ...(terminationGraceSeconds !== undefined && { [GRACE]: String(terminationGraceSeconds) }),
  };
}

export function printContainerLabels(record: ContainerRecord): Labels {
  const { container, restartCount, hash, terminationMessagePath, terminationMessagePolicy } = record;
  return {
    ...printPodLabels(record),
    [CONTAINER]: container,
    [RESTART_COUNT]: String(restartCount),
    [HASH]: hash,
    ...(terminationMessagePath !== undefined && { [MESSAGE_PATH]: terminationMessagePath }),
    ...(terminationMessagePolicy !== undefined && { [MESSAGE_POLICY]: terminationMessagePolicy }),
  };
}

/** Undefined: not labels of ours, or damaged in a way that leaves no identity. */
export function parsePodLabels(labels: Labels): PodRecord | undefined {
  const [uid, name, namespace] = [labels[POD_UID], labels[POD_NAME], labels[POD_NAMESPACE]];
  if (!uid || !name || !namespace) return undefined;
  const grace = parseCount(labels[GRACE]);
  return {
    // The label was printed from a PodUid; this is the edge where it becomes one again.
    pod: { uid: uid as PodUid, namespace, name },
    ...(grace !== undefined && { terminationGraceSeconds: grace }),
  };
}

export function parseContainerLabels(labels: Labels): ContainerRecord | undefined {
  const pod = parsePodLabels(labels);
  const [container, hash] = [labels[CONTAINER], labels[HASH]];
  const restartCount = parseCount(labels[RESTART_COUNT]);
  if (pod === undefined || !container || hash === undefined || restartCount === undefined) return undefined;
  const [path, policy] = [labels[MESSAGE_PATH], labels[MESSAGE_POLICY]];
  return {
    ...pod,
    container,
    restartCount,
    hash,
    ...(path !== undefined && { terminationMessagePath: path }),
    ...(policy !== undefined && { terminationMessagePolicy: policy }),
  };
}

function parseCount(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{1,15}$/.test(text)) return undefined;
  return Number(text);
}
