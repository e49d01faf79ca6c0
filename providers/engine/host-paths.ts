import { posix } from 'node:path';
import {
  type CallOptions,
  type ImageFacet,
  type PodUid,
  ProviderError,
  type VolumeFailure,
  type VolumeSpec,
} from '../contract/index.ts';
import { type TarEntry, writeTar } from '../shared/tar.ts';
import { LABEL } from '../shared/unit-labels.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { statusBehind } from './errors.ts';
import { type FileKind, statIn } from './path-stat.ts';
import { ofPod, removeByForce } from './units.ts';

type HostPath = Extract<VolumeSpec, { kind: 'hostPath' }>;

export interface LookerSettings {
  /** Never started: any image does. */
  readonly image: string;
  readonly images: Pick<ImageFacet, 'imagePresent' | 'pullImage'>;
}

/** Where a looker has the path that it looks at. */
const TARGET = '/path';

/**
 * Looks at paths of the engine's host through its API alone: a container that is made, mounts the path and is never started lets
 * the archive API see and fill it. Nothing runs, and no file system is shared with us.
 */
export class HostPaths {
  readonly #engine: Engine;
  readonly #settings: LookerSettings;
  #pulled = false;

  constructor(engine: Engine, settings: LookerSettings) {
    this.#engine = engine;
    this.#settings = settings;
  }

  /** Makes what is to be made and checks the rest; throws with every volume that is not what its type says (reference 9.6). */
  async prepare(uid: PodUid, volumes: readonly VolumeSpec[], options: CallOptions): Promise<void> {
    const failures: VolumeFailure[] = [];
    for (const volume of volumes) {
      if (volume.kind !== 'hostPath') continue;
      const message = await this.#prepareOne(uid, volume, options);
      if (message !== undefined) failures.push({ volume: volume.name, message });
    }
    const [first] = failures;
    if (first !== undefined) throw new ProviderError('NotFound', first.message, { volumes: failures });
  }

  /** Whether there is an image to look with; where there is none it is pulled, once. */
  async canLook(options: CallOptions): Promise<boolean> {
    const { image, images } = this.#settings;
    if ((await images.imagePresent(image, options)) !== undefined) return true;
    if (this.#pulled) return false;
    this.#pulled = true;
    try {
      await images.pullImage(image, [], options);
      return true;
    } catch (error) {
      options.signal.throwIfAborted();
      this.#engine.context.log.debug({ err: error, image }, 'the sandbox image cannot be pulled yet');
      return false;
    }
  }

  /** Whether the engine finds this name in a directory of its host. */
  async holds(directory: string, name: string, options: CallOptions): Promise<boolean> {
    const found = await this.#look(undefined, directory, options, (id) =>
      statIn(this.#engine, id, `${TARGET}/${name}`, options),
    );
    return found !== undefined;
  }

  async #prepareOne(uid: PodUid, { path, type }: HostPath, options: CallOptions): Promise<string | undefined> {
    const clean = posix.normalize(path);
    const found = await this.#kindOf(uid, clean, options);
    if (found !== undefined || !CREATABLE.has(type))
      return found === undefined || type !== '' ? mismatch(path, type, found) : undefined;
    return type === 'FileOrCreate' ? this.#makeFile(uid, clean, options) : this.#makeDirectory(uid, clean, options);
  }

  /** undefined: nothing is there. */
  async #kindOf(uid: PodUid, path: string, options: CallOptions): Promise<FileKind | undefined> {
    return this.#look(uid, path, options, async (id) => (await statIn(this.#engine, id, TARGET, options))?.kind);
  }

  async #makeFile(uid: PodUid, path: string, options: CallOptions): Promise<string | undefined> {
    const name = posix.basename(path);
    const entry: TarEntry = { type: 'file', path: name, mode: 0o644, data: Buffer.alloc(0) };
    const made = await this.#look(uid, posix.dirname(path), options, async (id) => {
      // Looked at once more where it is written: what came meanwhile is not overwritten.
      if ((await statIn(this.#engine, id, `${TARGET}/${name}`, options)) === undefined)
        await this.#put(id, [entry], options);
      return true;
    });
    return made === true ? undefined : `open ${path}: no such file or directory`;
  }

  async #makeDirectory(uid: PodUid, path: string, options: CallOptions): Promise<string | undefined> {
    for (let above = posix.dirname(path); ; above = posix.dirname(above)) {
      const kind = await this.#look(uid, above, options, async (id) => {
        const stat = await statIn(this.#engine, id, TARGET, options);
        if (stat?.kind === 'directory') await this.#put(id, directories(posix.relative(above, path)), options);
        return stat?.kind;
      });
      if (kind === 'directory') return undefined;
      if (kind !== undefined || above === '/') return `mkdir ${path}: not a directory`;
    }
  }

  /** undefined where the path is not there. */
  async #look<T>(
    uid: PodUid | undefined,
    path: string,
    options: CallOptions,
    use: (id: string) => Promise<T>,
  ): Promise<T | undefined> {
    const id = await this.#create(uid, path, options);
    if (id === undefined) return undefined;
    try {
      return await use(id);
    } finally {
      await removeByForce(this.#engine, id, options);
    }
  }

  async #create(uid: PodUid | undefined, path: string, options: CallOptions): Promise<string | undefined> {
    const { docker, calls, context } = this.#engine;
    const { image, images } = this.#settings;
    const ask = async (): Promise<string> => {
      const made = await calls.call('look at a path', { ...options, timeoutMs: SLOW_CALL_MS }, (abortSignal) =>
        docker.createContainer({
          Image: image,
          Labels: { ...context.ownerLabels, [LABEL.kind]: 'looker', ...(uid === undefined ? {} : ofPod(uid)) },
          HostConfig: {
            NetworkMode: 'none',
            Mounts: [{ Type: 'bind', Source: path, Target: TARGET }],
          },
          abortSignal,
        }),
      );
      return made.id;
    };
    try {
      return await ask();
    } catch (error) {
      const status = statusBehind(error);
      // All else in the request is always the same, so it is the source that the engine does not find.
      if (status === 400) return undefined;
      if (status !== 404) throw error;
      await images.pullImage(image, [], options);
      return await ask();
    }
  }

  async #put(id: string, entries: readonly TarEntry[], { signal }: CallOptions): Promise<void> {
    const { docker, calls, context } = this.#engine;
    await calls.call('write to a path', { signal, timeoutMs: SLOW_CALL_MS }, () =>
      docker.getContainer(id).putArchive(writeTar(entries, context.clock.now() / 1000), { path: TARGET }),
    );
  }
}

/** An unset type checks nothing; the container runtimes of kubelets make a directory where nothing is. */
const CREATABLE: ReadonlySet<string> = new Set(['', 'DirectoryOrCreate', 'FileOrCreate']);

const EXPECTED: Readonly<Record<string, { readonly kind: FileKind; readonly words: string }>> = {
  DirectoryOrCreate: { kind: 'directory', words: 'a directory' },
  Directory: { kind: 'directory', words: 'a directory' },
  FileOrCreate: { kind: 'file', words: 'a file' },
  File: { kind: 'file', words: 'a file' },
  Socket: { kind: 'socket', words: 'a socket file' },
  CharDevice: { kind: 'charDevice', words: 'a character device' },
  BlockDevice: { kind: 'blockDevice', words: 'a block device' },
};

/** In the kubelet's words (host_path.go, checkTypeInternal). */
function mismatch(path: string, type: string, found: FileKind | undefined): string | undefined {
  const expected = Object.hasOwn(EXPECTED, type) ? EXPECTED[type] : undefined;
  if (expected === undefined) return `${type} is an invalid volume type`;
  return found === expected.kind ? undefined : `hostPath type check failed: ${path} is not ${expected.words}`;
}

/** Each folder of a relative path, outermost first. */
function directories(path: string): readonly TarEntry[] {
  const parts = path.split('/');
  return parts.map((_, i): TarEntry => ({ type: 'directory', path: parts.slice(0, i + 1).join('/'), mode: 0o755 }));
}
