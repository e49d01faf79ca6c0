import type Docker from 'dockerode';
import { type Labels, ProviderError, type SandboxSpec, type VolumeSpec } from '../contract/index.ts';
import { encodeUnit } from '../shared/unit-labels.ts';
import { volumeName } from '../shared/unit-names.ts';

/**
 * Where the sandbox container mounts every volume of its pod. That keeps a tmpfs mounted (its content is lost with its last
 * user), makes the engine create the volumes together with the container, and gives the archive API a place to fill them:
 * an engine shares no files with us.
 */
export const VOLUMES_ROOT = '/outrigger/volumes';

export function volumeMounts(spec: SandboxSpec, owner: Labels): Docker.MountSettings[] {
  return spec.volumes.filter(isVolumeOfPod).map((volume) => ({
    Type: 'volume',
    Source: volumeName(spec.pod.uid, volume.name),
    Target: `${VOLUMES_ROOT}/${volume.name}`,
    VolumeOptions: {
      // Otherwise the engine copies what the image has at the mount point into an empty volume.
      NoCopy: true,
      Labels: encodeUnit({ kind: 'volume', pod: spec.pod, volume: volume.name }, {}, owner),
      DriverConfig: { Name: 'local', Options: driverOptions(volume) },
    },
  }));
}

/** Made for the pod on the engine, and gone with it; a path of the host is neither. */
function isVolumeOfPod(volume: VolumeSpec): boolean {
  return volume.kind !== 'hostPath';
}

/** Mode of a volume's root as the kubelet leaves it: tmpfs keeps its sticky bit. */
export function rootMode(volume: VolumeSpec): number {
  const mode = isTmpfs(volume) ? 0o1777 : 0o777;
  // A group may use it, and what is made inside belongs to the group too (reference 9.11).
  return volume.kind === 'emptyDir' && volume.ownerGid !== undefined ? mode | 0o2770 : mode;
}

function isTmpfs(volume: VolumeSpec): boolean {
  return (volume.kind === 'files' || volume.kind === 'emptyDir') && volume.medium === 'memory';
}

function driverOptions(volume: VolumeSpec): Record<string, string> {
  if (volume.kind !== 'files' && volume.kind !== 'emptyDir') {
    throw new ProviderError('Unsupported', `volume "${volume.name}": kind ${volume.kind} is not supported`);
  }
  if (!isTmpfs(volume)) return {};
  const size = volume.kind === 'emptyDir' ? volume.sizeLimitBytes : undefined;
  return {
    type: 'tmpfs',
    device: 'tmpfs',
    o: `mode=1777${size !== undefined && size > 0 ? `,size=${size}` : ''}`,
  };
}
