import { type CallOptions, ProviderError, type SandboxSpec, type VolumeSpec } from '../contract/index.ts';
import { initialLayout, swapLayout } from '../shared/atomic-layout.ts';
import { readTar, type TarEntry, writeTar } from '../shared/tar.ts';
import { asReadable, streamFailure } from './calls.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { statusBehind } from './errors.ts';
import type { HeldVolumes } from './held-volumes.ts';
import { runSwap, swapTool } from './swap-tool.ts';
import { rootMode, VOLUMES_ROOT } from './volume-mounts.ts';

type FilesVolume = Extract<VolumeSpec, { kind: 'files' }>;

/** A volume of files is a few objects of at most 1 MiB each. */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;
/** No name of a volume begins with a dot. */
const TOOL = '.swap';
const IN_USE_POLL_MS = 100;
const IN_USE_TRIES = 50;

/** Content of a pod's volumes, through the archive API of its running sandbox container. */
export class PodVolumes {
  readonly #engine: Engine;
  readonly #held: HeldVolumes;

  constructor(engine: Engine, held: HeldVolumes) {
    this.#engine = engine;
    this.#held = held;
  }

  async fill(sandboxId: string, spec: SandboxSpec, options: CallOptions): Promise<void> {
    const entries: TarEntry[] = [];
    const refilled: FilesVolume[] = [];
    for (const volume of spec.volumes) {
      if (volume.kind === 'files' && volume.medium === 'disk' && (await this.#isFilled(sandboxId, volume, options))) {
        refilled.push(volume);
      } else if (volume.kind === 'files') {
        entries.push(...initialLayout(volume.files, this.#layout(volume)));
      } else if (volume.kind === 'emptyDir') {
        entries.push({ type: 'directory', path: volume.name, mode: rootMode(volume), gid: volume.ownerGid ?? 0 });
      }
    }
    if (entries.length > 0) await this.#put(sandboxId, entries, options);
    for (const volume of refilled) await this.update(sandboxId, volume, options);
  }

  async update(sandboxId: string, volume: FilesVolume, options: CallOptions): Promise<void> {
    const present = await this.#read(sandboxId, volume, options);
    const swap = swapLayout(volume.files, present, this.#layout(volume));
    const tool: TarEntry = { type: 'file', path: TOOL, mode: 0o755, data: swapTool(await this.#arch(options)) };
    await this.#put(sandboxId, [...swap.entries, tool], options);
    const directory = `${VOLUMES_ROOT}/${volume.name}`;
    await runSwap(this.#engine, sandboxId, { tool: `${VOLUMES_ROOT}/${TOOL}`, directory, steps: swap.steps }, options);
  }

  async remove(name: string, { signal }: CallOptions): Promise<void> {
    const { docker, calls, context } = this.#engine;
    for (let tries = 1; ; tries++) {
      try {
        await calls.call('remove a volume', { signal }, () => docker.getVolume(name).remove());
        this.#held.delete(name);
        return;
      } catch (error) {
        const status = statusBehind(error);
        if (status === 404) return;
        if (status === 500) {
          context.log.warn({ err: error, volume: name }, 'the engine does not let go of a volume: left for later');
          this.#held.add(name);
          return;
        }
        // "volume is in use": the engine is still letting go of a container that was just removed.
        if (status !== 409 || tries >= IN_USE_TRIES) throw error;
        await context.clock.sleep(IN_USE_POLL_MS, { signal });
      }
    }
  }

  async #arch({ signal }: CallOptions): Promise<string> {
    const { Arch } = await this.#engine.calls.call('tell its version', { signal }, () => this.#engine.docker.version());
    return Arch;
  }

  #layout(volume: FilesVolume) {
    return {
      root: volume.name,
      rootMode: rootMode(volume),
      now: this.#engine.context.clock.now(),
      ...(volume.ownerGid === undefined ? {} : { ownerGid: volume.ownerGid }),
    };
  }

  /** A volume on disk that an earlier sandbox of the pod has left. */
  async #isFilled(sandboxId: string, volume: FilesVolume, { signal }: CallOptions): Promise<boolean> {
    const path = `${VOLUMES_ROOT}/${volume.name}/..data`;
    try {
      await this.#engine.calls.call('look at a file', { signal }, () =>
        this.#engine.docker.getContainer(sandboxId).infoArchive({ path }),
      );
      return true;
    } catch (error) {
      if (statusBehind(error) === 404) return false;
      throw error;
    }
  }

  async #put(sandboxId: string, entries: readonly TarEntry[], { signal }: CallOptions): Promise<void> {
    await this.#engine.calls.call('write files', { signal, timeoutMs: SLOW_CALL_MS }, () =>
      this.#engine.docker
        .getContainer(sandboxId)
        .putArchive(writeTar(entries, this.#engine.context.clock.now() / 1000), { path: VOLUMES_ROOT }),
    );
  }

  /** What is in the volume, with paths relative to its root. */
  async #read(sandboxId: string, volume: FilesVolume, options: CallOptions): Promise<readonly TarEntry[]> {
    const container = this.#engine.docker.getContainer(sandboxId);
    const open = async () => asReadable(await container.getArchive({ path: `${VOLUMES_ROOT}/${volume.name}` }));
    const stream = await this.#engine.calls.open('read files', options, open);
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of stream) {
        size += chunk.length;
        if (size > MAX_CONTENT_BYTES)
          throw new ProviderError('Internal', `volume "${volume.name}" is too large to read`);
        chunks.push(chunk);
      }
    } catch (error) {
      throw streamFailure(error, options.signal);
    }
    const prefix = `${volume.name}/`;
    return readTar(Buffer.concat(chunks))
      .filter((entry) => entry.path.startsWith(prefix))
      .map((entry) => ({ ...entry, path: entry.path.slice(prefix.length) }));
  }
}
