import type { VolumeSpec } from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';
import { quantityToBytes } from '../model/quantity.ts';
import { podMemoryBound } from '../model/resources.ts';

export interface EmptyDirSource {
  readonly medium?: string;
  readonly sizeLimit?: string;
}

/**
 * Reference 9.2. In memory the size is bounded by what the pod and the node can hold at all; on disk the limit is enforced by
 * eviction, and told to the backend for what it can do with it.
 */
export function emptyDir(
  name: string,
  { medium = '', sizeLimit }: EmptyDirSource,
  pod: Pod,
  allocatableMemoryBytes: number | undefined,
): VolumeSpec {
  if (medium !== '' && medium !== 'Memory') throw new Error(`unknown storage medium ${JSON.stringify(medium)}`);
  const fsGroup = pod.spec.securityContext?.fsGroup;
  const owner = fsGroup === undefined ? {} : { ownerGid: fsGroup };
  const limit = positive(sizeLimit === undefined ? undefined : quantityToBytes(sizeLimit));
  if (medium === '') {
    return { kind: 'emptyDir', name, medium: 'disk', ...(limit !== undefined && { sizeLimitBytes: limit }), ...owner };
  }
  const bounds = [positive(allocatableMemoryBytes), podMemoryBound(pod), limit].filter((bound) => bound !== undefined);
  return {
    kind: 'emptyDir',
    name,
    medium: 'memory',
    ...owner,
    ...(bounds.length > 0 && { sizeLimitBytes: Math.min(...bounds) }),
  };
}

function positive(bytes: number | undefined): number | undefined {
  return bytes !== undefined && bytes > 0 ? bytes : undefined;
}
