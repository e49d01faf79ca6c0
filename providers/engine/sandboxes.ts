import type Docker from 'dockerode';
import { type CallOptions, type ImageFacet, type PodUid, ProviderError, type SandboxSpec } from '../contract/index.ts';
import { decodeUnit, hasLabels } from '../shared/unit-labels.ts';
import { isUnfilledSandboxName, sandboxName } from '../shared/unit-names.ts';
import { type EngineSettings, sandboxCreateOptions } from './create-options.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { recoded, statusBehind } from './errors.ts';
import type { HostPaths } from './host-paths.ts';
import type { NodeNetwork } from './network.ts';
import { writeNetworkFiles } from './network-files.ts';
import { findSandboxes, inspectContainer, listContainers, listVolumes, ofPod, removeByForce } from './units.ts';
import type { PodVolumes } from './volumes.ts';

interface SandboxParts {
  readonly network: NodeNetwork;
  readonly volumes: PodVolumes;
  readonly hostPaths: HostPaths;
  /** Lets go of what was bound for mounts of parts of volumes. */
  readonly releaseBinds: (uid: PodUid) => Promise<void>;
  /** For the sandbox image, which no pod names. */
  readonly images: Pick<ImageFacet, 'pullImage'>;
}

/**
 * A pod's sandbox: a container that sleeps, owns the network namespace and the address, and keeps the volumes mounted.
 * It is created under a provisional name, started, its volumes are filled, and only then it gets its real name: whoever
 * finds it after a crash can tell whether the pod's content is complete.
 */
export class Sandboxes {
  readonly #engine: Engine;
  readonly #settings: EngineSettings;
  readonly #network: NodeNetwork;
  readonly #volumes: PodVolumes;
  readonly #hostPaths: HostPaths;
  readonly #releaseBinds: (uid: PodUid) => Promise<void>;
  readonly #images: Pick<ImageFacet, 'pullImage'>;

  constructor(engine: Engine, settings: EngineSettings, parts: SandboxParts) {
    this.#engine = engine;
    this.#settings = settings;
    this.#network = parts.network;
    this.#volumes = parts.volumes;
    this.#hostPaths = parts.hostPaths;
    this.#releaseBinds = parts.releaseBinds;
    this.#images = parts.images;
  }

  async ensure(spec: SandboxSpec, options: CallOptions): Promise<void> {
    const { subnet, mode } = spec.network;
    if (mode === 'pod' && subnet === undefined)
      throw new ProviderError('InvalidSpec', 'the node has no pod network (no pod CIDR)');
    const present = await findSandboxes(this.#engine, spec.pod.uid, options);
    if (present.some((info) => attemptOf(info) === spec.attempt && isReady(info))) return;
    // What is left is a creation that was cut off, a sandbox that has died, or one that this one replaces.
    const useless = present.filter((info) => attemptOf(info) <= spec.attempt);
    await Promise.all(useless.map((info) => removeByForce(this.#engine, info.Id, options)));
    await this.#hostPaths.prepare(spec.pod.uid, spec.volumes, options);
    if (mode === 'pod' && subnet !== undefined) await this.#network.ensure(subnet, options);
    try {
      await this.#make(spec, options);
    } catch (error) {
      this.#network.forget();
      // An engine answers "bad request" to a runtime that it does not have; it may be given one.
      const code = spec.runtimeHandler !== undefined && statusBehind(error) === 400 ? 'Internal' : undefined;
      throw recoded(error, 'FailedCreatePodSandBox', code);
    }
  }

  async stop(uid: PodUid, options: CallOptions): Promise<void> {
    const present = await findSandboxes(this.#engine, uid, options);
    await Promise.all(present.map((info) => this.#stop(info, options)));
  }

  async remove(uid: PodUid, options: CallOptions): Promise<void> {
    const present = await listContainers(this.#engine, ofPod(uid), options);
    const isSandbox = (info: Docker.ContainerInfo): boolean => decodeUnit(info.Labels)?.kind === 'sandbox';
    // The sandbox last: while it is there, the pod is found again and a removal that was cut off is finished.
    const removeAll = (round: readonly Docker.ContainerInfo[]): Promise<unknown> =>
      Promise.all(round.map((info) => removeByForce(this.#engine, info.Id, options)));
    await removeAll(present.filter((info) => !isSandbox(info)));
    await this.#releaseBinds(uid);
    await removeAll(present.filter(isSandbox));
    const volumes = await listVolumes(this.#engine, ofPod(uid), options);
    await Promise.all(volumes.map((volume) => this.#volumes.remove(volume.Name, options)));
  }

  async #make(spec: SandboxSpec, options: CallOptions): Promise<void> {
    const { calls } = this.#engine;
    const slow = { signal: options.signal, timeoutMs: SLOW_CALL_MS };
    const container = await this.#create(spec, options);
    await calls.call('start a sandbox', slow, (abortSignal) => container.start({ abortSignal }));
    await this.#volumes.fill(container.id, spec, options);
    await writeNetworkFiles(this.#engine, container.id, spec, options);
    const name = sandboxName(spec.pod, spec.attempt);
    await calls.call('name a sandbox', slow, () => container.rename({ name }));
  }

  async #create(spec: SandboxSpec, options: CallOptions): Promise<Docker.Container> {
    const { docker, calls, context } = this.#engine;
    const create = sandboxCreateOptions(spec, context.ownerLabels, this.#network.name, this.#settings);
    const ask = (): Promise<Docker.Container> =>
      calls.call('create a sandbox', { signal: options.signal, timeoutMs: SLOW_CALL_MS }, (abortSignal) =>
        docker.createContainer({ ...create, abortSignal }),
      );
    try {
      return await ask();
    } catch (error) {
      const status = statusBehind(error);
      if (status === 409) await this.#freeName(create.name, error, options);
      else if (status === 404) await this.#images.pullImage(this.#settings.sandboxImage, [], options);
      else throw error;
      return await ask();
    }
  }

  /** A name that is taken by something that does not carry our labels is never touched. */
  async #freeName(name: string, conflict: unknown, options: CallOptions): Promise<void> {
    const taken = await inspectContainer(this.#engine, name, options);
    if (taken === undefined) return;
    if (!hasLabels(taken.Config.Labels, this.#engine.context.ownerLabels)) {
      const message = `container "${name}" exists and does not belong to this node`;
      throw new ProviderError('AlreadyExists', message, { cause: conflict });
    }
    await removeByForce(this.#engine, taken.Id, options);
  }

  async #stop(info: Docker.ContainerInfo, { signal }: CallOptions): Promise<void> {
    const { docker, calls } = this.#engine;
    // One that was never started has nothing to stop, and would be taken for one that is still to come.
    if (info.State === 'created') return removeByForce(this.#engine, info.Id, { signal });
    if (info.State !== 'running' && info.State !== 'paused') return;
    try {
      // Returns when the process is gone and the engine has taken the address back.
      await calls.call('stop a sandbox', { signal, timeoutMs: SLOW_CALL_MS }, () =>
        docker.getContainer(info.Id).stop({ t: 0 }),
      );
    } catch (error) {
      const status = statusBehind(error);
      if (status !== 304 && status !== 404) throw error;
    }
  }
}

function attemptOf(info: Docker.ContainerInfo): number {
  const unit = decodeUnit(info.Labels);
  return unit?.kind === 'sandbox' ? unit.attempt : -1;
}

function isReady(info: Docker.ContainerInfo): boolean {
  return info.State === 'running' && !info.Names.some(isUnfilledSandboxName);
}
