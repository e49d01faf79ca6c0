import type { ProviderTraits } from '../contract/index.ts';

/** Everything that the contract can say is supported; tests take away what they need absent. */
export const FAKE_TRAITS: ProviderTraits = {
  network: {
    podIpReachable: false,
    podIpKnownBeforeStart: true,
    sharedNamespace: true,
    hostNetwork: true,
    hostPorts: true,
    subnet: 'unused',
  },
  volumes: new Set(['files', 'emptyDir', 'hostPath', 'native']),
  subPaths: 'all',
  fsGroup: true,
  mountPropagation: true,
  recursiveReadOnly: true,
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
  ]),
  ephemeralContainers: true,
  initContainers: true,
  sidecars: true,
  sharePidNamespace: true,
  relistIntervalMs: 10_000,
  graceAdjustable: true,
};
