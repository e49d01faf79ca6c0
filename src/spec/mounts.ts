import { posix } from 'node:path';
import type { MountSpec } from '../../providers/contract/index.ts';
import type { Container, Pod } from '../model/pod.ts';
import { ContainerConfigError } from './config-error.ts';
import { expand } from './expand.ts';

type Volume = NonNullable<Pod['spec']['volumes']>[number];
type Mount = NonNullable<Container['volumeMounts']>[number];

/** Volume mounts of a container; `env` is its final environment (makeMounts, reference 9.8, 9.10). Throws ContainerConfigError. */
export function buildMounts(pod: Pod, container: Container, env: ReadonlyMap<string, string>): readonly MountSpec[] {
  const kept = new Set(pod.spec.volumes?.filter(isAlwaysReadOnly).map(({ name }) => name));
  return (container.volumeMounts ?? []).map((mount) => {
    const subPath = subPathOf(mount, env);
    const { mountPropagation: propagation } = mount;
    return {
      volume: mount.name,
      path: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      ...(subPath !== '' && { subPath }),
      ...((propagation === 'HostToContainer' || propagation === 'Bidirectional') && { propagation }),
      readOnly: mount.readOnly === true || kept.has(mount.name),
    };
  });
}

function subPathOf({ subPath = '', subPathExpr = '' }: Mount, env: ReadonlyMap<string, string>): string {
  const path = subPathExpr === '' ? subPath : expandSubPath(subPathExpr, env);
  if (path === '') return '';
  if (posix.isAbsolute(path)) throw new ContainerConfigError(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split('/').includes('..')) {
    throw new ContainerConfigError(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  }
  const normal = posix.normalize(path).replace(/\/$/, '');
  // The volume itself.
  return normal === '.' ? '' : normal;
}

/** A variable that is not there, or empty, would name another directory than was meant (ExpandContainerVolumeMounts). */
function expandSubPath(expression: string, env: ReadonlyMap<string, string>): string {
  const missing = new Set<string>();
  const path = expand(expression, (name) => {
    const value = env.get(name) ?? '';
    if (value === '') missing.add(name);
    return value;
  });
  if (missing.size > 0) throw new ContainerConfigError(`missing value for ${[...missing].sort().join(', ')}`);
  return path;
}

/** Content that the kubelet writes is never the container's to write (reference 9.3). */
function isAlwaysReadOnly(volume: Volume): boolean {
  return [volume.projected, volume.configMap, volume.secret, volume.downwardAPI].some((source) => source !== undefined);
}
