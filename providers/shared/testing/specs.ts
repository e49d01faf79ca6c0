import type { ContainerSpec, PodUid, SandboxSpec } from '../../contract/index.ts';

/** A container that asks for nothing. */
export function makeContainerSpec(overrides: Partial<ContainerSpec> = {}): ContainerSpec {
  return {
    name: 'c',
    attempt: 0,
    role: 'main',
    image: 'i',
    env: [],
    mounts: [],
    resources: {},
    security: {},
    terminal: { tty: false, stdin: false, stdinOnce: false },
    labels: {},
    ...overrides,
  };
}

/** The pod `n/p` with the UID `uid-1`, without volumes. */
export function makeSandboxSpec(overrides: Partial<SandboxSpec> = {}): SandboxSpec {
  return {
    pod: { uid: 'uid-1' as PodUid, namespace: 'n', name: 'p' }, // the brand of a UID is a compile-time mark only
    attempt: 0,
    hostname: 'p',
    network: { mode: 'pod', ports: [], hostAliases: [] },
    volumes: [],
    sharePidNamespace: false,
    labels: {},
    hints: {},
    ...overrides,
  };
}
