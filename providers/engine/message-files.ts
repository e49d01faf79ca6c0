import { posix } from 'node:path';
import type Docker from 'dockerode';
import {
  type CallOptions,
  type ContainerRef,
  type ContainerSpec,
  type FileFacet,
  ProviderError,
} from '../contract/index.ts';
import { type TarEntry, writeTar } from '../shared/tar.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { MANAGED_ROOT } from './network-files.ts';
import { statIn } from './path-stat.ts';
import { readArchive } from './read-archive.ts';
import { findContainer, findSandboxes } from './units.ts';

const DIRECTORY = 'messages';
/** A container may write as much as it likes; beyond this nobody looks for its end. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Room for the tar around it. */
const MAX_ARCHIVE_BYTES = MAX_FILE_BYTES + 16 * 1024;

type Held = readonly { readonly Destination: string; readonly Source: string }[];
type Incarnation = Pick<ContainerSpec, 'name' | 'attempt'>;

/** Names of containers have no underscore. */
function fileOf({ name, attempt }: Incarnation): string {
  return `${DIRECTORY}/${name}_${attempt}`;
}

/** Where a container finds it; a relative path begins at the root, as on the kubelet. */
function targetOf(path: string): string {
  return posix.resolve('/', path);
}

/**
 * The file into which one incarnation writes its last words (reference 1.7): one of the pod's managed files (network-files.ts),
 * which outlive the container and the sandbox's process. A container that mounts something there itself keeps that.
 */
export function messageMounts(spec: ContainerSpec, held: Held): Docker.MountSettings[] {
  const root = held.find(({ Destination }) => Destination === MANAGED_ROOT)?.Source;
  const { terminationMessagePath: path = '' } = spec;
  if (root === undefined || path === '') return [];
  const target = targetOf(path);
  if (spec.mounts.some((mount) => targetOf(mount.path) === target)) return [];
  return [{ Type: 'bind', Source: `${root}/${fileOf(spec)}`, Target: target, ReadOnly: false }];
}

/** Makes the file, empty, unless it is there: an earlier call may have started the container already, which has it open. */
export async function makeMessageFile(
  engine: Engine,
  sandboxId: string,
  spec: ContainerSpec,
  held: Held,
  options: CallOptions,
): Promise<void> {
  if (messageMounts(spec, held).length === 0) return;
  const path = fileOf(spec);
  if ((await statIn(engine, sandboxId, `${MANAGED_ROOT}/${path}`, options)) !== undefined) return;
  await writeEmpty(engine, sandboxId, path, options);
}

/**
 * What a removed incarnation has written goes, and only its name is left in the volume: the archive API removes nothing. If it fails,
 * the content goes with the pod.
 */
export async function emptyMessageFile(
  engine: Engine,
  ref: ContainerRef,
  mounts: readonly { readonly Source: string }[],
  options: CallOptions,
): Promise<void> {
  const path = fileOf({ name: ref.container, attempt: ref.attempt });
  if (!mounts.some(({ Source }) => Source.endsWith(`/${path}`))) return;
  try {
    const [sandbox] = await findSandboxes(engine, ref.podUid, options);
    if (sandbox !== undefined) await writeEmpty(engine, sandbox.Id, path, options);
  } catch (error) {
    if (options.signal.aborted) throw error;
    engine.context.log.debug({ err: error, ref }, 'message file was not emptied');
  }
}

async function writeEmpty(engine: Engine, sandboxId: string, path: string, options: CallOptions): Promise<void> {
  const entries: TarEntry[] = [
    { type: 'directory', path: DIRECTORY, mode: 0o755 },
    // Whoever the container runs as.
    { type: 'file', path, mode: 0o666, data: new Uint8Array() },
  ];
  const tar = writeTar(entries, engine.context.clock.now() / 1000);
  await engine.calls.call('write files', { ...options, timeoutMs: SLOW_CALL_MS }, () =>
    engine.docker.getContainer(sandboxId).putArchive(tar, { path: MANAGED_ROOT }),
  );
}

/** Reads the message files, and no other file: what else a container has is nobody's business here. */
export class MessageFiles implements FileFacet {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async readFile(
    ref: ContainerRef,
    path: string,
    { signal, maxBytes }: CallOptions & { readonly maxBytes: number },
  ): Promise<Uint8Array> {
    const options = { signal };
    const file = fileOf({ name: ref.container, attempt: ref.attempt });
    const container = await findContainer(this.#engine, ref, options);
    const mount = container?.Mounts.find(({ Destination }) => Destination === targetOf(path));
    if (mount === undefined || !mount.Source.endsWith(`/${file}`)) throw noMessage(ref, path);
    // Any will do, also one that has stopped: they all hold the same volume.
    const [sandbox] = await findSandboxes(this.#engine, ref.podUid, options);
    if (sandbox === undefined) throw noMessage(ref, path);
    const inside = `${MANAGED_ROOT}/${file}`;
    const [entry] = (await readArchive(this.#engine, sandbox.Id, inside, MAX_ARCHIVE_BYTES, options)) ?? [];
    if (entry?.type !== 'file') throw noMessage(ref, path);
    return entry.data.subarray(Math.max(0, entry.data.length - maxBytes));
  }
}

function noMessage({ podUid, container, attempt }: ContainerRef, path: string): ProviderError {
  return new ProviderError('NotFound', `no message file ${path} of container ${container}#${attempt} of pod ${podUid}`);
}
