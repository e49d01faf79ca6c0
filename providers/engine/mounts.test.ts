import { describe, expect, it } from 'vitest';
import type { MountSpec, PodUid, SandboxSpec, VolumeSpec } from '../contract/index.ts';
import { mountOf } from './mounts.ts';

const sandboxWith = (volume: VolumeSpec): SandboxSpec => ({
  pod: { uid: 'u' as PodUid, namespace: 'ns', name: 'p' },
  attempt: 0,
  hostname: 'p',
  network: { mode: 'pod', ports: [], hostAliases: [] },
  volumes: [volume],
  sharePidNamespace: false,
  labels: {},
  hints: {},
});
const DISK = sandboxWith({ kind: 'emptyDir', name: 'v', medium: 'disk' });
const HOST = sandboxWith({ kind: 'hostPath', name: 'v', path: '/srv', type: '' });
const mount = (overrides: Partial<MountSpec> = {}): MountSpec => ({
  volume: 'v',
  path: '/x',
  readOnly: false,
  ...overrides,
});

describe('a mount on the engine', () => {
  it('is the whole volume, or a path of the host', () => {
    expect(mountOf(DISK, mount(), new Map())).toMatchObject({ Type: 'volume', Source: 'outrigger_u_v', Target: '/x' });
    expect(mountOf(HOST, mount(), new Map())).toMatchObject({ Type: 'bind', Source: '/srv', ReadOnly: false });
  });

  it('is the path that was found for a part of a volume', () => {
    const part = mount({ subPath: 'a', readOnly: true });
    const bound = { Type: 'bind', Source: '/found/a', Target: '/x', ReadOnly: true };
    expect(mountOf(DISK, part, new Map([[part, '/found/a']]))).toEqual(bound);
    expect(() => mountOf(HOST, part, new Map()), 'never the whole volume instead').toThrow('was not looked up');
  });

  it.each([
    ['HostToContainer', 'rslave'],
    ['Bidirectional', 'rshared'],
  ] as const)('hands later mounts on: %s', (propagation, Propagation) => {
    expect(mountOf(HOST, mount({ propagation }), new Map())).toMatchObject({ BindOptions: { Propagation } });
  });

  it('is read-only where the claim behind it is', () => {
    const claimed = sandboxWith({ kind: 'hostPath', name: 'v', path: '/srv', type: '', readOnly: true });
    expect(mountOf(claimed, mount(), new Map())).toMatchObject({ ReadOnly: true });
  });
});
