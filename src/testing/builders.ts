import type { ContainerState, ObservedContainer, ObservedPod, PodUid } from '../../providers/contract/index.ts';
import type { Container, Pod } from '../model/pod.ts';
import type { NodeFacts } from '../model/stores.ts';

/** Objects as the API server and a backend would give them, complete enough for the code under test; override what matters. */

export const POD_UID = '11111111-2222-3333-4444-555555555555' as PodUid;
/** 2026-01-02T03:04:05Z */
export const START_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

export interface PodOverrides {
  readonly metadata?: Partial<Pod['metadata']>;
  readonly spec?: Partial<Pod['spec']>;
  readonly status?: NonNullable<Pod['status']>;
}

export function makeContainer(name = 'c', overrides: Partial<Container> = {}): Container {
  return { name, image: 'busybox:1', imagePullPolicy: 'IfNotPresent', resources: {}, ...overrides };
}

/** One container `c`, restartPolicy Always, bound and otherwise as fresh from the API server. */
export function makePod({ metadata = {}, spec = {}, status = { phase: 'Pending' } }: PodOverrides = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'p',
      namespace: 'ns',
      uid: POD_UID,
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-01-02T03:04:05Z',
      ...metadata,
    },
    spec: {
      nodeName: 'node',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      containers: [makeContainer()],
      ...spec,
    },
    status,
  };
}

/** A pod as the API server gives it out: service links are always set there. */
export function makeStoredPod(spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return makePod({ metadata, spec: { enableServiceLinks: true, ...spec } });
}

export function makeObservedContainer(
  name: string,
  state: ContainerState,
  overrides: Partial<ObservedContainer> = {},
): ObservedContainer {
  const attempt = overrides.attempt ?? 0;
  return {
    name,
    attempt,
    id: `${name}-${attempt}`,
    image: 'busybox:1',
    imageId: 'sha256:abc',
    // Later attempts are younger.
    createdAt: new Date(START_MS + attempt * 60_000),
    state,
    labels: {},
    ...overrides,
  };
}

export function makeObservedPod(overrides: Partial<ObservedPod> = {}): ObservedPod {
  return {
    pod: { uid: POD_UID, namespace: 'ns', name: 'p' },
    unitId: 'sandbox',
    attempt: 0,
    createdAt: new Date(START_MS),
    state: 'ready',
    ips: ['10.0.0.7'],
    labels: {},
    containers: [],
    ...overrides,
  };
}

export function running(startedMs = START_MS): ContainerState {
  return { status: 'running', startedAt: new Date(startedMs) };
}

export type Exited = Extract<ContainerState, { status: 'exited' }>;

export function exited(exitCode: number, overrides: Partial<Exited> = {}): Exited {
  return {
    status: 'exited',
    exitCode,
    oomKilled: false,
    startedAt: new Date(START_MS),
    finishedAt: new Date(START_MS + 2_000),
    ...overrides,
  };
}

export function makeNodeFacts(overrides: Partial<NodeFacts> = {}): NodeFacts {
  return {
    nodeName: 'node',
    hostIPs: ['192.168.0.10'],
    podCidr: '10.0.0.0/24',
    runtimeName: 'docker',
    os: 'linux',
    arch: 'amd64',
    labels: { 'kubernetes.io/hostname': 'node', 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
    taints: [],
    allocatable: { cpuMilli: 4_000, memoryBytes: 8 * 2 ** 30, ephemeralBytes: 100 * 2 ** 30, pods: 110 },
    ...overrides,
  };
}
