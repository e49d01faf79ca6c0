import { describe, expect, it } from 'vitest';
import type { ContainerSpec, PodUid, SandboxSpec } from '../contract/index.ts';
import { makeContainerSpec } from '../shared/testing/specs.ts';
import { containerCreateOptions, resources, sandboxCreateOptions, security } from './create-options.ts';

const owner = { 'outrigger/node': 'n' };
const settings = { sandboxImage: 'pause:1', logMaxSize: '10m', logMaxFiles: 5, seccompRoot: '/profiles' };
const pod = { uid: 'uid-1' as PodUid, namespace: 'ns', name: 'web' };

function sandboxOf(overrides: Partial<SandboxSpec> = {}): SandboxSpec {
  return {
    pod,
    attempt: 0,
    hostname: 'web',
    network: { mode: 'pod', subnet: '10.1.0.0/24', ports: [], hostAliases: [] },
    volumes: [
      { kind: 'files', name: 'token', files: [], revision: '1', medium: 'memory' },
      { kind: 'emptyDir', name: 'disk', medium: 'disk' },
      { kind: 'emptyDir', name: 'ram', medium: 'memory', sizeLimitBytes: 4096 },
    ],
    sharePidNamespace: false,
    labels: {},
    hints: {},
    ...overrides,
  };
}

function containerOf(overrides: Partial<ContainerSpec> = {}): ContainerSpec {
  return makeContainerSpec({ name: 'app', attempt: 2, image: 'app:1', ...overrides });
}

function create(container: Partial<ContainerSpec>, sandbox: Partial<SandboxSpec> = {}, imageUser?: string) {
  const place = { sandboxId: 'abc', ...(imageUser === undefined ? {} : { imageUser }) };
  return containerCreateOptions(sandboxOf(sandbox), containerOf(container), owner, place, settings);
}

describe('a container', () => {
  it('is named after its incarnation and joins the sandbox', () => {
    const made = create({});
    expect(made.name).toBe('outrigger_app_web_uid-1_2');
    expect(made.HostConfig).toMatchObject({ NetworkMode: 'container:abc', IpcMode: 'container:abc' });
    expect(made.HostConfig).not.toHaveProperty('PidMode');
    expect(create({}, { sharePidNamespace: true }).HostConfig?.PidMode).toBe('container:abc');
  });

  it("joins the processes of its target, of its machine, or of the pod, and the machine's IPC", () => {
    const pidMode = (sandbox: Partial<SandboxSpec>, targetId?: string): unknown => {
      const place = { sandboxId: 'abc', ...(targetId === undefined ? {} : { targetId }) };
      return containerCreateOptions(sandboxOf(sandbox), containerOf(), owner, place, settings).HostConfig?.PidMode;
    };
    expect(pidMode({ hostPid: true })).toBe('host');
    expect(pidMode({ hostPid: true }, 'def')).toBe('container:def');
    expect(pidMode({ sharePidNamespace: true }, 'def')).toBe('container:def');
    expect(create({}, { hostIpc: true }).HostConfig?.IpcMode).toBe('host');
  });

  it('runs where its sandbox does', () => {
    const place = { sandboxId: 'abc', runtime: 'runsc' };
    expect(containerCreateOptions(sandboxOf({}), containerOf(), owner, place, settings).HostConfig?.Runtime).toBe(
      'runsc',
    );
    const network = { mode: 'host', ports: [], hostAliases: [] } as const;
    expect(create({}, { network }).HostConfig).toMatchObject({ NetworkMode: 'container:abc', UTSMode: 'host' });
  });

  it('has its OOM score and the text of its own seccomp profile', () => {
    expect(create({ resources: { oomScoreAdj: -997 } }).HostConfig?.OomScoreAdj).toBe(-997);
    const security = { seccompProfile: { localhost: 'x.json' } };
    const place = { sandboxId: 'abc', seccompJson: '{}' };
    expect(
      containerCreateOptions(sandboxOf({}), containerOf({ security }), owner, place, settings).HostConfig?.SecurityOpt,
    ).toEqual(['seccomp={}']);
  });

  it('is never restarted or removed by the engine, nor probed by the image', () => {
    const made = create({});
    expect(made.HostConfig).toMatchObject({ RestartPolicy: { Name: 'no' }, AutoRemove: false });
    expect(made.Healthcheck).toEqual({ Test: ['NONE'] });
  });

  it.each([
    ['neither', {}, undefined, undefined],
    ['empty lists, which mean the same', { command: [], args: [] }, undefined, undefined],
    ['a command', { command: ['a', 'b'] }, ['a', 'b'], undefined],
    ['arguments', { args: ['c'] }, undefined, ['c']],
    ['both', { command: ['a'], args: ['c'] }, ['a'], ['c']],
  ])('takes entrypoint and arguments from the image or the spec: %s', (_, spec, entrypoint, cmd) => {
    const made = create(spec);
    expect([made.Entrypoint, made.Cmd]).toEqual([entrypoint, cmd]);
  });

  it('sees variables in order, the last value of a name', () => {
    const env = [
      { name: 'A', value: '1' },
      { name: 'B', value: 'x=y' },
      { name: 'A', value: '2', sensitive: true },
      { name: 'C', value: '' },
    ] as const;
    expect(create({ env }).Env).toEqual(['A=2', 'B=x=y', 'C=']);
  });

  it.each([
    [{}, undefined, undefined],
    [{ runAsUser: 0 }, undefined, '0'],
    [{ runAsUser: 1000, runAsGroup: 2000 }, undefined, '1000:2000'],
    [{ runAsGroup: 2000 }, '', '0:2000'],
    [{ runAsGroup: 2000 }, 'nobody:nogroup', 'nobody:2000'],
  ])('runs as %j with image user %j: %j', (spec, imageUser, user) => {
    expect(create({ security: spec }, {}, imageUser).User).toBe(user);
  });

  it('cannot write what the kubelet writes', () => {
    const mounts = [
      { volume: 'token', path: '/t', readOnly: false },
      { volume: 'disk', path: '/d', readOnly: false },
      { volume: 'ram', path: '/r', readOnly: true },
    ];
    const made = create({ mounts }).HostConfig?.Mounts ?? [];
    expect(made.map(({ Source, Target, ReadOnly }) => [Source, Target, ReadOnly])).toEqual([
      ['outrigger_uid-1_token', '/t', true],
      ['outrigger_uid-1_disk', '/d', false],
      ['outrigger_uid-1_ram', '/r', true],
    ]);
    expect(made.every(({ VolumeOptions }) => VolumeOptions?.NoCopy)).toBe(true);
  });

  it('is refused when it mounts what the pod does not have, or a part of a volume that nobody has looked for', () => {
    const mount = { path: '/x', readOnly: false };
    expect(() => create({ mounts: [{ ...mount, volume: 'none' }] })).toThrow('no volume "none"');
    expect(() => create({ mounts: [{ ...mount, volume: 'disk', subPath: 'a' }] })).toThrow('was not looked up');
  });
});

describe('limits', () => {
  it.each([
    [{}, { CpuShares: 2 }],
    [{ cpuRequestMilli: 100 }, { CpuShares: 102 }],
    [{ cpuRequestMilli: 1 }, { CpuShares: 2 }],
    [{ cpuRequestMilli: 1_000_000 }, { CpuShares: 262_144 }],
    [{ cpuLimitMilli: 250 }, { CpuShares: 2, CpuPeriod: 100_000, CpuQuota: 25_000 }],
    [{ cpuLimitMilli: 1 }, { CpuShares: 2, CpuPeriod: 100_000, CpuQuota: 1_000 }],
    [{ memoryLimitBytes: 1 << 26 }, { CpuShares: 2, Memory: 1 << 26, MemorySwap: 1 << 26 }],
    [{ pidsLimit: 64 }, { CpuShares: 2, PidsLimit: 64 }],
  ])('%j', (spec, expected) => {
    expect(resources(spec)).toEqual(expected);
  });
});

describe('security', () => {
  it('filters no system calls unless asked to, as the kubelet', () => {
    expect(security({}).SecurityOpt).toEqual(['seccomp=unconfined']);
    expect(security({ seccompProfile: 'Unconfined' }).SecurityOpt).toEqual(['seccomp=unconfined']);
    expect(security({ seccompProfile: 'RuntimeDefault' }).SecurityOpt).toEqual([]);
  });

  it('passes on every field', () => {
    const spec = {
      privileged: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      addCapabilities: ['NET_ADMIN'],
      dropCapabilities: ['ALL'],
      supplementalGroups: [5, 6],
      seccompProfile: 'RuntimeDefault',
    } as const;
    expect(security(spec)).toEqual({
      Privileged: true,
      ReadonlyRootfs: true,
      SecurityOpt: ['no-new-privileges'],
      CapAdd: ['NET_ADMIN'],
      CapDrop: ['ALL'],
      GroupAdd: ['5', '6'],
    });
  });
});

describe('a sandbox', () => {
  it('is named as unfinished until its volumes are filled', () => {
    expect(sandboxCreateOptions(sandboxOf(), owner, 'net', settings).name).toBe('outrigger_PREPARE_web_uid-1_0');
  });

  it('owns network, host name and host ports', () => {
    const network: SandboxSpec['network'] = {
      mode: 'pod',
      subnet: '10.1.0.0/24',
      ports: [
        { containerPort: 80, protocol: 'TCP', hostPort: 8080 },
        { containerPort: 80, protocol: 'TCP', hostPort: 8081, hostIp: '127.0.0.1' },
        { containerPort: 53, protocol: 'UDP', hostPort: 5353 },
        { containerPort: 9000, protocol: 'TCP' },
      ],
      hostAliases: [],
    };
    const made = sandboxCreateOptions(sandboxOf({ network }), owner, 'net', settings);
    expect(made).toMatchObject({ Image: 'pause:1', Hostname: 'web', ExposedPorts: { '80/tcp': {}, '53/udp': {} } });
    expect(made.HostConfig).toMatchObject({
      NetworkMode: 'net',
      IpcMode: 'shareable',
      PortBindings: {
        '80/tcp': [
          { HostIp: '', HostPort: '8080' },
          { HostIp: '127.0.0.1', HostPort: '8081' },
        ],
        '53/udp': [{ HostIp: '', HostPort: '5353' }],
      },
    });
  });

  it('mounts every volume, so that its content stays', () => {
    const mounts = sandboxCreateOptions(sandboxOf(), owner, 'net', settings).HostConfig?.Mounts ?? [];
    expect(mounts.map(({ Target, VolumeOptions }) => [Target, VolumeOptions?.DriverConfig.Options])).toEqual([
      ['/outrigger/volumes/token', { type: 'tmpfs', device: 'tmpfs', o: 'mode=1777' }],
      ['/outrigger/volumes/disk', {}],
      ['/outrigger/volumes/ram', { type: 'tmpfs', device: 'tmpfs', o: 'mode=1777,size=4096' }],
      ['/outrigger/network', {}],
    ]);
    expect(mounts[0]?.VolumeOptions?.Labels).toMatchObject({ ...owner, 'outrigger/volume': 'token' });
  });

  it('is refused with a volume that the engine has no answer for', () => {
    const volumes = [{ kind: 'native', name: 'n', driver: 'x', options: {} }] as const;
    expect(() => sandboxCreateOptions(sandboxOf({ volumes }), owner, 'net', settings)).toThrow('kind native');
  });

  it('mounts no path of the host: only containers do', () => {
    const volumes = [{ kind: 'hostPath', name: 'h', path: '/', type: '' }] as const;
    const { HostConfig } = sandboxCreateOptions(sandboxOf({ volumes }), owner, 'net', settings);
    expect(HostConfig?.Mounts?.map(({ Type }) => Type)).toEqual(['volume']);
  });
});
