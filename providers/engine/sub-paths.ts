import { posix } from 'node:path';
import {
  type CallOptions,
  type ContainerRef,
  type MountSpec,
  type PodUid,
  ProviderError,
  type SandboxSpec,
} from '../contract/index.ts';
import { type TarEntry, writeTar } from '../shared/tar.ts';
import { volumeName } from '../shared/unit-names.ts';
import type { Engine } from './engine.ts';
import { type MountParts, needsPart, volumeOf } from './mounts.ts';
import { statIn } from './path-stat.ts';
import { VOLUMES_ROOT } from './volume-mounts.ts';

/** Binds a part of a directory that others may change at the same time; only an engine on this machine can use what it makes. */
export interface SafeBinder {
  /** Path of the host that stands for this part, as long as the pod is there. A part that is not there is made, as a directory. */
  bind(root: string, subPath: string, key: BindKey): Promise<string>;
}

export interface BindKey extends ContainerRef {
  /** Which mount of the container. */
  readonly index: number;
}

/**
 * Finds the paths on the engine's host for mounts of parts of volumes. The engine (before API 1.45) knows whole volumes only, but
 * tells where they lie. In a `files` volume nobody but the node writes, so its links are followed here; elsewhere a container could
 * swap in a link between the look and the mount, and only a binder that holds on to what it has looked at will do.
 */
export class SubPaths {
  readonly #engine: Engine;
  readonly #binder: () => SafeBinder | undefined;

  /** `binder` answers undefined while nobody knows whether the engine could use what it makes. */
  constructor(engine: Engine, binder: () => SafeBinder | undefined) {
    this.#engine = engine;
    this.#binder = binder;
  }

  async resolve(
    sandbox: SandboxSpec,
    sandboxId: string,
    {
      name,
      attempt,
      mounts,
    }: { readonly name: string; readonly attempt: number; readonly mounts: readonly MountSpec[] },
    options: CallOptions,
  ): Promise<MountParts> {
    const parts = new Map<MountSpec, string>();
    for (const [index, mount] of mounts.entries()) {
      const volume = volumeOf(sandbox, mount);
      if (!needsPart(volume, mount)) continue;
      const root =
        volume.kind === 'hostPath' ? volume.path : await this.#mountpoint(sandbox.pod.uid, volume.name, options);
      const { subPath } = mount;
      if (subPath === undefined) {
        parts.set(mount, root);
      } else if (volume.kind === 'files') {
        parts.set(mount, posix.join(root, await this.#inFiles(sandboxId, volume.name, subPath, options)));
      } else {
        const key = { podUid: sandbox.pod.uid, container: name, attempt, index };
        parts.set(
          mount,
          await this.#bind(root, subPath, key).catch((error: unknown) => fail(error, mount.volume, name)),
        );
      }
    }
    return parts;
  }

  async #bind(root: string, subPath: string, key: BindKey): Promise<string> {
    const binder = this.#binder();
    if (binder === undefined) {
      throw new ProviderError('Unsupported', 'a part of a volume that containers write to cannot be mounted here');
    }
    return binder.bind(root, subPath, key);
  }

  /** The kubelet makes what is missing in any volume; top names of files are links, so this is a real folder beside them. */
  async #makeDirectory(sandboxId: string, root: string, path: string, { signal }: CallOptions): Promise<void> {
    const { docker, calls, context } = this.#engine;
    const parts = path.split('/');
    const entries = parts.map(
      (_, i): TarEntry => ({ type: 'directory', path: parts.slice(0, i + 1).join('/'), mode: 0o777 }),
    );
    await calls.call('make a directory', { signal }, () =>
      docker.getContainer(sandboxId).putArchive(writeTar(entries, context.clock.now() / 1000), { path: root }),
    );
  }

  async #mountpoint(uid: PodUid, volume: string, { signal }: CallOptions): Promise<string> {
    const { docker, calls } = this.#engine;
    const { Mountpoint } = await calls.call('look at a volume', { signal }, () =>
      docker.getVolume(volumeName(uid, volume)).inspect(),
    );
    return Mountpoint;
  }

  /** The file itself, not the link that an update swaps: a container keeps what it was given (reference 9.3). */
  async #inFiles(sandboxId: string, volume: string, subPath: string, options: CallOptions): Promise<string> {
    const root = `${VOLUMES_ROOT}/${volume}`;
    const data = await statIn(this.#engine, sandboxId, `${root}/..data`, options);
    if (data?.kind !== 'symlink') throw new ProviderError('NotFound', `volume "${volume}" has no content yet`);
    // The engine tells where a link leads inside the container; this one leads to a name beside it.
    const stamp = posix.basename(data.target);
    const inside = subPath.startsWith('..data/') ? subPath.slice('..data/'.length) : subPath;
    const path = `${stamp}/${inside}`;
    if ((await statIn(this.#engine, sandboxId, `${root}/${path}`, options)) !== undefined) return path;
    const top = inside.split('/')[0] ?? inside;
    const isBeside = (await statIn(this.#engine, sandboxId, `${root}/${stamp}/${top}`, options)) === undefined;
    await this.#makeDirectory(sandboxId, isBeside ? root : `${root}/${stamp}`, inside, options);
    return isBeside ? inside : path;
  }
}

/** In the kubelet's words, which do not tell the path: it may be one of the host. */
function fail(cause: unknown, volume: string, container: string): never {
  if (cause instanceof ProviderError && cause.code === 'Unsupported') throw cause;
  const message = `failed to prepare subPath for volumeMount "${volume}" of container "${container}"`;
  throw new ProviderError('Internal', message, { cause, reason: 'CreateContainerConfigError' });
}
