import type Docker from 'dockerode';
import { type MountSpec, ProviderError, type SandboxSpec, type VolumeSpec } from '../contract/index.ts';
import { volumeName } from '../shared/unit-names.ts';

/** Paths of the engine's host that stand for mounts which are not whole volumes. */
export type MountParts = ReadonlyMap<MountSpec, string>;

/** Whether a mount needs a path on the engine's host: volumes of the engine are mounted whole, and hand no later mounts on. */
export function needsPart(volume: VolumeSpec, mount: MountSpec): boolean {
  return mount.subPath !== undefined || (mount.propagation !== undefined && volume.kind !== 'hostPath');
}

export function volumeOf(sandbox: SandboxSpec, mount: MountSpec): VolumeSpec {
  const volume = sandbox.volumes.find(({ name }) => name === mount.volume);
  if (volume === undefined) throw new ProviderError('InvalidSpec', `the pod has no volume "${mount.volume}"`);
  return volume;
}

export function mountOf(sandbox: SandboxSpec, mount: MountSpec, parts: MountParts): Docker.MountSettings {
  const volume = volumeOf(sandbox, mount);
  const part = parts.get(mount);
  if (part === undefined && needsPart(volume, mount)) {
    throw new ProviderError('Internal', `volume "${mount.volume}": a part of it was not looked up`);
  }
  // Content that the kubelet writes is read-only for the pod, whatever the mount says (reference 9.3).
  const readOnly =
    mount.readOnly || volume.kind === 'files' || (volume.kind === 'hostPath' && volume.readOnly === true);
  const common = { Target: mount.path, ReadOnly: readOnly };
  const source = part ?? (volume.kind === 'hostPath' ? volume.path : undefined);
  if (source === undefined) {
    return {
      ...common,
      Type: 'volume',
      Source: volumeName(sandbox.pod.uid, volume.name),
      VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
    };
  }
  const { propagation } = mount;
  if (propagation === undefined) return { ...common, Type: 'bind', Source: source };
  return { ...common, Type: 'bind', Source: source, BindOptions: { Propagation: PROPAGATION[propagation] } };
}

/** Without one the engine takes `rprivate`, and what it needs below its own root. */
const PROPAGATION = { HostToContainer: 'rslave', Bidirectional: 'rshared' } as const;
