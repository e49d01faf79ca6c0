import type { PodPlanSpec, ProviderTraits, Violation } from '../contract/index.ts';

/** True of an engine on this machine; what lies further away changes `network`. */
export const ENGINE_TRAITS: ProviderTraits = {
  network: {
    podIpReachable: true,
    podIpKnownBeforeStart: true,
    sharedNamespace: true,
    hostNetwork: true,
    hostPorts: true,
    subnet: 'required',
  },
  volumes: new Set(['files', 'emptyDir', 'hostPath'] as const),
  subPaths: 'files',
  fsGroup: true,
  mountPropagation: true,
  // Engines below API 1.44 cannot, and none tells before a container is made.
  recursiveReadOnly: false,
  security: new Set([
    'runAsUser',
    'runAsGroup',
    'supplementalGroups',
    'privileged',
    'allowPrivilegeEscalation',
    'readOnlyRootFilesystem',
    'addCapabilities',
    'dropCapabilities',
    'seccompProfile',
  ] as const),
  ephemeralContainers: true,
  initContainers: true,
  sidecars: true,
  sharePidNamespace: true,
  hostPid: true,
  hostIpc: true,
  sysctls: true,
  runtimeHandlers: true,
  ephemeralTarget: true,
  // The event stream is quick; this catches what it lost.
  relistIntervalMs: 10_000,
  graceAdjustable: true,
};

/** The engine refuses less ("Minimum memory limit allowed is 6MB"). */
const MIN_MEMORY_BYTES = 6 * 1024 * 1024;

export function violations(spec: PodPlanSpec): readonly Violation[] {
  return spec.containers.flatMap(({ name, resources }) => {
    const found: Violation[] = [];
    const memory = resources.memoryLimitBytes ?? 0;
    if (memory > 0 && memory < MIN_MEMORY_BYTES) {
      found.push(unsupported(name, `a memory limit of ${memory} bytes is below the engine's minimum of 6Mi`));
    }
    for (const [resource, count] of Object.entries(resources.extended ?? {})) {
      if (count > 0) found.push(unsupported(name, `extended resource ${resource} is not supported`));
    }
    return found;
  });
}

function unsupported(container: string, why: string): Violation {
  return { reason: 'ProviderUnsupported', message: `container "${container}": ${why}` };
}
