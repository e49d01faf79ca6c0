import { describe, expect, it } from 'vitest';
import type { ProviderTraits, SecuritySpec } from '../../providers/contract/index.ts';
import type { Container } from '../model/pod.ts';
import { makeContainer, makePod } from '../testing/builders.ts';
import DEFAULTED from './testdata/defaulted-pods.json' with { type: 'json' };
import { firstUnsupported } from './unsupported.ts';

const SECURITY: readonly (keyof SecuritySpec)[] = [
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'privileged',
  'allowPrivilegeEscalation',
  'readOnlyRootFilesystem',
  'addCapabilities',
  'dropCapabilities',
  'seccompProfile',
];

const EVERYTHING: ProviderTraits = {
  network: {
    podIpReachable: true,
    podIpKnownBeforeStart: true,
    sharedNamespace: true,
    hostNetwork: true,
    hostPorts: true,
    subnet: 'required',
  },
  volumes: new Set(['files', 'emptyDir', 'hostPath', 'native'] as const),
  subPaths: 'all',
  fsGroup: true,
  mountPropagation: true,
  recursiveReadOnly: true,
  security: new Set(SECURITY),
  ephemeralContainers: true,
  initContainers: true,
  sidecars: true,
  sharePidNamespace: true,
  hostPid: true,
  hostIpc: true,
  sysctls: true,
  runtimeHandlers: true,
  ephemeralTarget: true,
  relistIntervalMs: 1000,
  graceAdjustable: true,
};

const NOTHING: ProviderTraits = {
  ...EVERYTHING,
  network: {
    ...EVERYTHING.network,
    podIpKnownBeforeStart: false,
    sharedNamespace: false,
    hostPorts: false,
    hostNetwork: false,
  },
  initContainers: false,
  sidecars: false,
  ephemeralContainers: false,
  sharePidNamespace: false,
  hostPid: false,
  hostIpc: false,
  sysctls: false,
  runtimeHandlers: false,
  ephemeralTarget: false,
  volumes: new Set(),
  subPaths: 'none',
  fsGroup: false,
  mountPropagation: false,
  recursiveReadOnly: false,
  security: new Set(),
  maxGraceSeconds: 120,
};

const check = (spec: object, traits = EVERYTHING): string | undefined => {
  const found = firstUnsupported(makePod({ spec }), traits);
  return found && `${found.path}: ${found.why}`;
};
const inContainer = (overrides: object): object => ({
  containers: [makeContainer('fine'), makeContainer('c', overrides as Partial<Container>)],
});

describe('a pod that asks only for what there is', () => {
  // As kube-apiserver v1.36.3 stored them (ServiceAccount admission on): one with an image only, one with all that is supported.
  it.each(['minimal', 'full'] as const)('is accepted as the API server defaults it: %s', (name) => {
    expect(firstUnsupported(DEFAULTED[name], EVERYTHING)).toBeUndefined();
  });

  it('needs of the provider what the injected token volume needs, and nothing else', () => {
    const traits = { ...NOTHING, volumes: new Set(['files'] as const) };
    expect(firstUnsupported(DEFAULTED.minimal, traits)).toBeUndefined();
    expect(firstUnsupported(DEFAULTED.minimal, NOTHING)).toEqual({
      path: 'spec.volumes[0].projected',
      why: 'the provider cannot put files into containers',
    });
  });

  it('may have a terminal, and input once or more than once', () => {
    for (const stdinOnce of [false, true]) {
      const containers = [makeContainer('c', { stdin: true, stdinOnce, tty: true })];
      expect(check({ containers })).toBeUndefined();
    }
  });

  it('may say in so many words what is the case anyway', () => {
    const spec = {
      initContainers: [],
      hostNetwork: false,
      hostPID: false,
      hostUsers: true,
      shareProcessNamespace: false,
      dnsConfig: {},
      overhead: {},
      runtimeClassName: null,
      securityContext: { sysctls: [], supplementalGroupsPolicy: 'Merge', supplementalGroups: [] },
      containers: [
        makeContainer('c', {
          lifecycle: {},
          envFrom: [],
          stdinOnce: false,
          resources: { claims: [] },
          volumeMounts: [
            { name: 'v', mountPath: '/', subPath: '', mountPropagation: 'None', recursiveReadOnly: 'Disabled' },
          ],
          securityContext: { privileged: false, allowPrivilegeEscalation: true, capabilities: { add: [], drop: [] } },
        }),
      ],
    };
    expect(check(spec, { ...NOTHING, network: { ...NOTHING.network, sharedNamespace: true } })).toBeUndefined();
  });
});

describe('a pod that asks for more', () => {
  it.each<[object, string]>([
    [{ hostUsers: false }, 'spec.hostUsers: false is not supported yet'],
    [{ hostAliases: [{ ip: '1.2.3.4', more: 1 }] }, 'spec.hostAliases[0].more: this field is not known'],
    [{ dnsPolicy: 'Other' }, 'spec.dnsPolicy: "Other" is not supported yet'],
    [{ dnsConfig: { more: ['x'] } }, 'spec.dnsConfig.more: this field is not known'],
    [{ overhead: { cpu: '1' } }, 'spec.overhead: overhead is not supported yet'],
    [{ resources: { limits: { cpu: '1' } } }, 'spec.resources: resources of the pod as a whole are not supported yet'],
    [{ resourceClaims: [{ name: 'x' }] }, 'spec.resourceClaims: resource claims are not supported yet'],
    [{ somethingNew: false }, 'spec.somethingNew: this field is not known'],
    [
      { securityContext: { seccompProfile: { type: 'Other' } } },
      'spec.securityContext.seccompProfile.type: "Other" is not supported yet',
    ],
    [
      { securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } },
      'spec.securityContext.appArmorProfile: AppArmor profiles are not supported yet',
    ],
    [{ securityContext: { brandNew: {} } }, 'spec.securityContext.brandNew: this field is not known'],
  ])('%j is refused', (spec, expected) => {
    expect(check(spec)).toBe(expected);
  });

  it.each<[object, string]>([
    [{ lifecycle: { stopSignal: 'SIGUSR1' } }, 'lifecycle.stopSignal: a stop signal of a pod is not supported yet'],
    [{ envFrom: [{ someRef: { name: 'x' } }] }, 'envFrom[0].someRef: this field is not known'],
    [
      {
        env: [
          { name: 'A', value: 'x' },
          { name: 'B', valueFrom: { someKeyRef: { name: 's', key: 'k' } } },
        ],
      },
      'env[1].valueFrom.someKeyRef: env from this source is not supported yet',
    ],
    [
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'status.phase' } } }] },
      'env[0].valueFrom.fieldRef.fieldPath: "status.phase" is not supported in env',
    ],
    [
      { resources: { limits: { cpu: '1', 'nvidia.com/gpu': '1' } } },
      'resources.limits[nvidia.com/gpu]: only cpu, memory and ephemeral-storage are supported yet',
    ],
    [{ resources: { claims: [{ name: 'x' }] } }, 'resources.claims: resource claims are not supported yet'],
    [{ restartPolicyRules: [{ action: 'Other' }] }, 'restartPolicyRules[0].action: "Other" is not supported yet'],
    [{ terminationMessagePolicy: 'Shout' }, 'terminationMessagePolicy: "Shout" is not supported yet'],
    [{ volumeDevices: [{ name: 'v' }] }, 'volumeDevices: block devices are not supported yet'],
    [{ securityContext: { procMount: 'Unmasked' } }, 'securityContext.procMount: "Unmasked" is not supported yet'],
    [
      { securityContext: { seLinuxOptions: { level: 'x' } } },
      'securityContext.seLinuxOptions: SELinux options are not supported yet',
    ],
    [{ somethingNew: 0 }, 'somethingNew: this field is not known'],
  ])('%j is refused in a container', (overrides, expected) => {
    expect(check(inContainer(overrides))).toBe(`spec.containers[1].${expected}`);
  });

  it.each<[object, string]>([
    [{ nfs: { path: '/' } }, 'nfs: volumes of this kind are not supported yet'],
    [{ csi: { driver: 'x' } }, 'csi: volumes of this kind are not supported yet'],
    [{ image: { reference: 'x' } }, 'image: volumes of this kind are not supported yet'],
    [{ newKind: {} }, 'newKind: volumes of this kind are not supported yet'],
    [{ emptyDir: { medium: 'HugePages' } }, 'emptyDir.medium: "HugePages" is not supported yet'],
    [
      { projected: { sources: [{ podCertificate: { keyType: 'x' } }] } },
      'projected.sources[0].podCertificate: projected sources of this kind are not supported yet',
    ],
    [{ configMap: { name: 'x', newField: 1 } }, 'configMap.newField: this field is not known'],
    [
      {
        projected: { sources: [{ downwardAPI: { items: [{ path: 'a', fieldRef: { fieldPath: 'spec.nodeName' } }] } }] },
      },
      'projected.sources[0].downwardAPI.items[0].fieldRef.fieldPath: "spec.nodeName" is not supported in a volume',
    ],
  ])('%j is refused as a volume, mounted or not', (source, expected) => {
    expect(
      check({
        volumes: [
          { name: 'ok', emptyDir: {} },
          { name: 'v', ...source },
        ],
      }),
    ).toBe(`spec.volumes[1].${expected}`);
  });
});

describe('a pod that asks for more than its provider can', () => {
  it.each<[object, string]>([
    [{ hostNetwork: true }, 'spec.hostNetwork: the provider cannot put pods on the network of its host'],
    [{ hostPID: true }, 'spec.hostPID: the provider cannot show the processes of its host'],
    [{ hostIPC: true }, 'spec.hostIPC: the provider cannot share the IPC of its host'],
    [
      { shareProcessNamespace: true },
      'spec.shareProcessNamespace: the provider cannot share processes between containers',
    ],
    [{ runtimeClassName: 'gvisor' }, 'spec.runtimeClassName: the provider cannot choose a runtime'],
    [
      { securityContext: { sysctls: [{ name: 'a', value: 'b' }] } },
      'spec.securityContext.sysctls: the provider cannot set sysctls',
    ],
    [
      { securityContext: { seccompProfile: { type: 'Localhost', localhostProfile: 'x' } } },
      'spec.securityContext.seccompProfile.type: the provider cannot enforce seccompProfile',
    ],
    [{ initContainers: [makeContainer('i')] }, 'spec.initContainers[0]: the provider cannot run init containers'],
    [
      { initContainers: [makeContainer('i', { restartPolicy: 'Always' })] },
      'spec.initContainers[0]: the provider cannot run sidecars',
    ],
    [
      { ephemeralContainers: [{ name: 'e' }] },
      'spec.ephemeralContainers: the provider cannot add containers to a pod that runs',
    ],
    [inContainer({}), 'spec.containers: the provider cannot give several containers one network'],
    [
      { terminationGracePeriodSeconds: 121 },
      'spec.terminationGracePeriodSeconds: the provider cannot wait longer than 120 s',
    ],
    [
      { containers: [makeContainer('c', { ports: [{ containerPort: 1, hostPort: 1 }] })] },
      'spec.containers[0].ports[0].hostPort: the provider cannot open ports on its host',
    ],
    [
      {
        containers: [
          makeContainer('c', { env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIPs' } } }] }),
        ],
      },
      'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: the provider cannot tell the address of a pod before it runs',
    ],
    [{ volumes: [{ name: 'v', emptyDir: {} }] }, 'spec.volumes[0].emptyDir: the provider cannot make emptyDir volumes'],
    [
      { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'x' } }] },
      'spec.volumes[0].persistentVolumeClaim: the provider cannot mount paths of its host',
    ],
    [
      { volumes: [{ name: 'v', secret: { secretName: 'x' } }] },
      'spec.volumes[0].secret: the provider cannot put files into containers',
    ],
    [
      {
        containers: [
          makeContainer('c', { volumeMounts: [{ name: 'v', mountPath: '/', mountPropagation: 'Bidirectional' }] }),
        ],
      },
      'spec.containers[0].volumeMounts[0].mountPropagation: the provider cannot let mounts show on both sides',
    ],
    [
      {
        containers: [
          makeContainer('c', { volumeMounts: [{ name: 'v', mountPath: '/', recursiveReadOnly: 'Enabled' }] }),
        ],
      },
      'spec.containers[0].volumeMounts[0].recursiveReadOnly: the provider cannot make mounts inside of mounts read-only',
    ],
    [{ securityContext: { runAsUser: 0 } }, 'spec.securityContext.runAsUser: the provider cannot enforce runAsUser'],
    [
      { containers: [makeContainer('c', { securityContext: { privileged: true } })] },
      'spec.containers[0].securityContext.privileged: the provider cannot enforce privileged',
    ],
    [
      { containers: [makeContainer('c', { securityContext: { capabilities: { drop: ['ALL'] } } })] },
      'spec.containers[0].securityContext.capabilities.drop: the provider cannot enforce dropCapabilities',
    ],
  ])('%j is refused', (spec, expected) => {
    expect(check(spec, NOTHING)).toBe(expected);
    expect(check(spec)).toBeUndefined();
  });
});

it('a debugger joins the processes of another container only where the provider can do that', () => {
  const spec = { ephemeralContainers: [{ name: 'e', targetContainerName: 'c' }] };
  expect(check(spec)).toBeUndefined();
  expect(check(spec, { ...EVERYTHING, ephemeralTarget: false })).toBe(
    'spec.ephemeralContainers[0].targetContainerName: the provider cannot let containers join the processes of others',
  );
});

describe('a part of a volume', () => {
  const spec = (volume: object, mount: object): object => ({
    volumes: [{ name: 'v', ...volume }],
    containers: [makeContainer('c', { volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] })],
  });
  const FILES_ONLY: ProviderTraits = { ...EVERYTHING, subPaths: 'files' };

  it('may be mounted of every volume where the provider can resolve it safely', () => {
    expect(check(spec({ emptyDir: {} }, { subPath: 'a' }))).toBeUndefined();
  });

  it('may be mounted of what the node fills where containers could swap in a link elsewhere', () => {
    expect(check(spec({ configMap: { name: 'x' } }, { subPath: 'a' }), FILES_ONLY)).toBeUndefined();
    expect(check(spec({ emptyDir: {} }, { subPathExpr: '$(A)' }), FILES_ONLY)).toBe(
      'spec.containers[0].volumeMounts[0].subPathExpr: the provider cannot mount a part of a volume that containers write to',
    );
    expect(check(spec({ emptyDir: {} }, { subPath: '' }), FILES_ONLY)).toBeUndefined();
  });

  it('is refused where the provider knows whole volumes only', () => {
    const traits: ProviderTraits = { ...EVERYTHING, subPaths: 'none' };
    expect(check(spec({ secret: { secretName: 'x' } }, { subPath: 'a' }), traits)).toBe(
      'spec.containers[0].volumeMounts[0].subPath: the provider cannot mount a part of a volume',
    );
  });
});
