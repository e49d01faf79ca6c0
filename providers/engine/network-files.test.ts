import { describe, expect, it } from 'vitest';
import { makeContainerSpec, makeSandboxSpec } from '../shared/testing/specs.ts';
import { networkFileMounts, networkFilesMount } from './network-files.ts';

const held = [{ Destination: '/outrigger/network', Source: '/data/volumes/v/_data' }];

describe('the files about names of a pod', () => {
  it('lie in a volume of the pod that no volume of its spec can be', () => {
    const sandbox = makeSandboxSpec();
    const mount = networkFilesMount(sandbox, { owner: 'me' });
    expect(mount).toMatchObject({ Type: 'volume', Source: 'outrigger_uid-1_.network', Target: '/outrigger/network' });
    expect(mount.VolumeOptions?.Labels).toMatchObject({ owner: 'me', 'io.kubernetes.pod.uid': 'uid-1' });
  });

  it("are mounted from where the engine has the sandbox's", () => {
    expect(networkFileMounts(makeContainerSpec(), held)).toEqual([
      { Type: 'bind', Source: '/data/volumes/v/_data/hosts', Target: '/etc/hosts', ReadOnly: false },
      { Type: 'bind', Source: '/data/volumes/v/_data/resolv.conf', Target: '/etc/resolv.conf', ReadOnly: false },
    ]);
  });

  it('give way to what the container mounts there itself', () => {
    const mounts = [
      { volume: 'v', path: '/etc/hosts/', readOnly: false },
      { volume: 'v', path: '/etc/hosts.d', readOnly: false },
    ];
    expect(networkFileMounts(makeContainerSpec({ mounts }), held).map(({ Target }) => Target)).toEqual([
      '/etc/resolv.conf',
    ]);
  });

  it('leave the resolver alone where the file system is read-only, and only that', () => {
    const readOnly = networkFileMounts(makeContainerSpec({ security: { readOnlyRootFilesystem: true } }), held);
    expect(readOnly.map(({ ReadOnly }) => ReadOnly)).toEqual([false, true]);
  });

  it("stay the engine's in a sandbox that has none", () => {
    expect(networkFileMounts(makeContainerSpec(), [{ Destination: '/outrigger/volumes/x', Source: '/x' }])).toEqual([]);
  });
});
