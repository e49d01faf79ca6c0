import type Docker from 'dockerode';
import {
  type CallOptions,
  type ContainerRef,
  type ContainerSpec,
  ProviderError,
  type SandboxSpec,
  type StopRequest,
} from '../contract/index.ts';
import { hasLabels, LABEL } from '../shared/unit-labels.ts';
import { sandboxName } from '../shared/unit-names.ts';
import { containerCreateOptions, type EngineSettings } from './create-options.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { recoded, statusBehind } from './errors.ts';
import { emptyMessageFile, makeMessageFile } from './message-files.ts';
import { seccompText } from './seccomp.ts';
import type { SubPaths } from './sub-paths.ts';
import { findContainer, inspectContainer, listContainers, noSuchContainer, ofPod, removeByForce } from './units.ts';

/** For a creation under way elsewhere to end: 20 s. */
const NAME_TRIES = 200;
const NAME_POLL_MS = 100;

type SandboxInfo = Pick<Docker.ContainerInspectInfo, 'Id' | 'Mounts' | 'HostConfig'>;

/** One container at a time, in a sandbox that is there. */
export class Containers {
  readonly #engine: Engine;
  readonly #settings: EngineSettings;
  readonly #subPaths: SubPaths;
  /** Found out by the first container that wants less; -1000 is the kernel's. */
  #lowestScore = -1000;

  constructor(engine: Engine, settings: EngineSettings, subPaths: SubPaths) {
    this.#engine = engine;
    this.#settings = settings;
    this.#subPaths = subPaths;
  }

  async start(sandbox: SandboxSpec, spec: ContainerSpec, options: CallOptions): Promise<void> {
    const held = await this.#running(sandbox, options);
    try {
      await this.#make(sandbox, this.#bounded(spec), held, options);
    } catch (error) {
      if (!mayNotLowerScore(error, spec, this.#lowestScore)) throw error;
      this.#lowestScore = 0;
      const message = 'the engine may not lower OOM scores: containers get 0 at the least';
      this.#engine.context.log.info({ err: error }, message);
      const { name: container, attempt } = spec;
      await this.remove({ podUid: sandbox.pod.uid, container, attempt }, options);
      await this.#make(sandbox, this.#bounded(spec), held, options);
    }
  }

  async #make(sandbox: SandboxSpec, spec: ContainerSpec, held: SandboxInfo, options: CallOptions): Promise<void> {
    const sandboxId = held.Id;
    const { id, state } = await this.#create(sandbox, spec, held, options);
    // Running, or has run: this incarnation was started by an earlier call whose answer got lost.
    if (state.Status !== 'created') return;
    if (state.Error !== '') throw new ProviderError('Internal', state.Error, { reason: 'StartError' });
    await this.#start(id, sandboxId, options);
  }

  #bounded(spec: ContainerSpec): ContainerSpec {
    const { oomScoreAdj } = spec.resources;
    if (oomScoreAdj === undefined || oomScoreAdj >= this.#lowestScore) return spec;
    return { ...spec, resources: { ...spec.resources, oomScoreAdj: this.#lowestScore } };
  }

  async stop(ref: ContainerRef, request: StopRequest, options: CallOptions): Promise<void> {
    const { docker, calls } = this.#engine;
    const found = await findContainer(this.#engine, ref, options);
    if (found === undefined) throw noSuchContainer(ref);
    const signal = request.graceSeconds > 0 ? await this.#stopSignal(found.Id, options) : 'SIGKILL';
    try {
      await calls.call('stop a container', options, () => docker.getContainer(found.Id).kill({ signal }));
    } catch (error) {
      const status = statusBehind(error);
      if (status === undefined) throw error;
      const present = await inspectContainer(this.#engine, found.Id, options);
      if (present === undefined) throw noSuchContainer(ref);
      // The engine refuses to signal what does not run (any more); that is what was wanted.
      if (present.State.Running) throw error;
    }
  }

  async remove(ref: ContainerRef, options: CallOptions): Promise<void> {
    const { docker, calls } = this.#engine;
    const found = await findContainer(this.#engine, ref, options);
    if (found === undefined) throw noSuchContainer(ref);
    try {
      await calls.call('remove a container', { ...options, timeoutMs: SLOW_CALL_MS }, () =>
        docker.getContainer(found.Id).remove({ v: true }),
      );
    } catch (error) {
      if (statusBehind(error) !== 404) throw error;
    }
    await emptyMessageFile(this.#engine, ref, found.Mounts, options);
  }

  async #running(sandbox: SandboxSpec, options: CallOptions): Promise<SandboxInfo> {
    const name = sandboxName(sandbox.pod, sandbox.attempt);
    const found = await inspectContainer(this.#engine, name, options);
    if (found === undefined || !found.State.Running || !this.#isOurs(found.Config.Labels)) {
      throw new ProviderError('NotFound', `the pod's sandbox "${name}" is not running`, { reason: 'SandboxNotReady' });
    }
    return found;
  }

  /** The one container of this ref, whether it was made now or before. */
  async #create(
    sandbox: SandboxSpec,
    spec: ContainerSpec,
    { Id: sandboxId, Mounts: held, HostConfig }: SandboxInfo,
    options: CallOptions,
  ): Promise<{ readonly id: string; readonly state: { readonly Status: string; readonly Error: string } }> {
    const { docker, calls, context } = this.#engine;
    const imageUser = await this.#imageUser(spec, options);
    const parts = await this.#subPaths.resolve(sandbox, sandboxId, spec, options);
    await makeMessageFile(this.#engine, sandboxId, spec, held, options);
    const [targetId, seccompJson] = await Promise.all([
      this.#target(sandbox, spec, options),
      seccompText(spec, this.#settings.seccompRoot),
    ]);
    const { Runtime: runtime = '' } = HostConfig ?? {};
    const place = {
      sandboxId,
      held,
      parts,
      ...(imageUser === undefined ? {} : { imageUser }),
      ...(targetId === undefined ? {} : { targetId }),
      ...(seccompJson === undefined ? {} : { seccompJson }),
      ...(runtime === '' ? {} : { runtime }),
    };
    const create = containerCreateOptions(sandbox, spec, context.ownerLabels, place, this.#settings);
    for (let tries = 1; ; tries++) {
      try {
        const made = await calls.call('create a container', { ...options, timeoutMs: SLOW_CALL_MS }, (abortSignal) =>
          docker.createContainer({ ...create, abortSignal }),
        );
        return { id: made.id, state: { Status: 'created', Error: '' } };
      } catch (error) {
        const status = statusBehind(error);
        const taken = status === 409 ? await inspectContainer(this.#engine, create.name, options) : undefined;
        if (taken !== undefined) {
          if (this.#isOurs(taken.Config.Labels)) return { id: taken.Id, state: taken.State };
          const message = `container "${create.name}" exists and does not belong to this node`;
          throw new ProviderError('AlreadyExists', message, { cause: error });
        }
        // 404 is about something that the spec names, and in a sandbox that was just looked at that is the image.
        if (status !== 409 || tries >= NAME_TRIES)
          throw recoded(error, 'CreateContainerError', status === 404 ? 'ImageNotFound' : undefined);
      }
      // The name is taken by a creation under way, which the engine does not show yet: it shows soon, or its name is free again.
      await context.clock.sleep(NAME_POLL_MS, options);
    }
  }

  async #start(id: string, sandboxId: string, options: CallOptions): Promise<void> {
    const { docker, calls } = this.#engine;
    try {
      await calls.call('start a container', { ...options, timeoutMs: SLOW_CALL_MS }, (abortSignal) =>
        docker.getContainer(id).start({ abortSignal }),
      );
    } catch (error) {
      const status = statusBehind(error);
      if (status === undefined) throw error;
      if (status === 304) return;
      // The sandbox died in between. That is not this container's failure, so no trace of it stays.
      const sandbox = await inspectContainer(this.#engine, sandboxId, options);
      if (sandbox?.State.Running !== true) {
        await removeByForce(this.#engine, id, options);
        const message = "the pod's sandbox stopped while a container was being started";
        throw new ProviderError('NotFound', message, { cause: error, reason: 'SandboxNotReady' });
      }
      throw recoded(error, 'StartError', 'Internal');
    }
  }

  /** The newest incarnation: one that has ended cannot be joined, which the engine says at the start. */
  async #target(
    { pod }: SandboxSpec,
    { targetContainer }: ContainerSpec,
    options: CallOptions,
  ): Promise<string | undefined> {
    if (targetContainer === undefined) return undefined;
    const wanted = { ...ofPod(pod.uid), [LABEL.kind]: 'container', [LABEL.containerName]: targetContainer };
    const found = await listContainers(this.#engine, wanted, options);
    const [newest] = found.toSorted((a, b) => b.Created - a.Created);
    if (newest === undefined) {
      const message = `unable to find target container ${targetContainer}`;
      throw new ProviderError('Internal', message, { reason: 'CreateContainerConfigError' });
    }
    return newest.Id;
  }

  async #imageUser(spec: ContainerSpec, { signal }: CallOptions): Promise<string | undefined> {
    const { runAsUser, runAsGroup } = spec.security;
    if (runAsGroup === undefined || runAsUser !== undefined) return undefined;
    const image = await this.#engine.calls.call('inspect an image', { signal }, () =>
      this.#engine.docker.getImage(spec.image).inspect(),
    );
    return image.Config.User;
  }

  async #stopSignal(id: string, options: CallOptions): Promise<string> {
    const found = await inspectContainer(this.#engine, id, options);
    // The types leave it out; the engine writes it when the image or the spec has one.
    const config: object = found?.Config ?? {};
    return 'StopSignal' in config && typeof config.StopSignal === 'string' && config.StopSignal !== ''
      ? config.StopSignal
      : 'SIGTERM';
  }

  #isOurs(labels: Record<string, string> | undefined): boolean {
    return hasLabels(labels, this.#engine.context.ownerLabels);
  }
}

/** runc names the file, or says only that its child has died while it wrote it. */
const LOWERING_REFUSED = /oom_score_adj|final child's PID from pipe/;

/** An engine without CAP_SYS_RESOURCE, as in a container or without root. */
function mayNotLowerScore(error: unknown, { resources }: ContainerSpec, lowest: number): boolean {
  const wanted = resources.oomScoreAdj ?? 0;
  return wanted < 0 && lowest < 0 && error instanceof ProviderError && LOWERING_REFUSED.test(error.message);
}
