import {
  type ContainerProvider,
  isProviderError,
  type SandboxSpec,
  type VolumeSpec,
} from '../../providers/contract/index.ts';
import { formatPod, type Pod } from '../model/pod.ts';
import { type DnsSettings, podDns } from '../spec/dns.ts';
import { sandboxNames } from '../spec/names.ts';
import { buildSandbox } from '../spec/sandbox.ts';
import { isAbortError } from '../util/abort.ts';
import { withJitter } from '../util/backoff.ts';
import { errorMessage } from '../util/errors.ts';
import type { ExecutorDeps } from './executor-deps.ts';
import { isOutage, mountFailure, startFailure } from './failure.ts';
import type { ContainerAction } from './plan/actions.ts';
import type { PodMemory } from './plan/memory.ts';
import { VolumeError } from './ports.ts';
import { podOf, type Turn } from './turn.ts';

/** A refresh of volume content that failed is tried again after this long; the old content stays meanwhile. */
const REFRESH_RETRY_MS = 30_000;
/** While the network is not ready a pod is looked at again after 1 s plus up to half of that (reference 16.1). */
const NETWORK_RETRY_MS = 1_000;
/** The form of the node's Ready condition, which also says why (reference 5.7): none was given, or it overlaps another one. */
const NO_POD_NETWORK =
  'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:the node has no pod network';

/** The shared part of a pod: volumes and network (reference 2.8, 2.13, 9.1). */
export class SandboxStep {
  readonly #deps: ExecutorDeps;

  constructor(deps: ExecutorDeps) {
    this.#deps = deps;
  }

  /** Specification of the pod's sandbox with volume content as it is now. Throws VolumeError, which is told by an event. */
  async resolve(turn: Turn, attempt: number): Promise<SandboxSpec> {
    const pod = podOf(turn.snapshot);
    try {
      return this.#spec(pod, attempt, await this.#deps.volumes.resolve(pod, { signal: turn.signal }));
    } catch (error: unknown) {
      if (error instanceof VolumeError) this.#failedMount(pod, error);
      throw error;
    }
  }

  /** The same with the runtime of the pod's RuntimeClass, for a sandbox that is to be made: its containers run where it does. */
  async complete(turn: Turn, attempt: number): Promise<SandboxSpec> {
    const spec = await this.resolve(turn, attempt);
    const name = podOf(turn.snapshot).spec.runtimeClassName ?? '';
    if (name === '') return spec;
    const runtimeHandler = (await this.#deps.runtimeHandler?.(name, { signal: turn.signal })) ?? '';
    return runtimeHandler === '' ? spec : { ...spec, runtimeHandler };
  }

  /**
   * The sandbox as the backend has it, for a container that joins it. What is mounted counts: an object that was deleted since
   * does not keep a container from restarting (the kubelet's mounts stay as they are, too).
   */
  async current(turn: Turn): Promise<SandboxSpec> {
    const attempt = turn.snapshot.observed?.attempt ?? 0;
    const { volumes } = turn.memory;
    return volumes === undefined ? this.resolve(turn, attempt) : this.#spec(podOf(turn.snapshot), attempt, volumes);
  }

  #spec(pod: Pod, attempt: number, volumes: readonly VolumeSpec[]): SandboxSpec {
    const { facts, settings, provider } = this.#deps;
    const node = facts();
    if (node === undefined) throw new Error('the node is not known yet');
    const { dns } = podDns(pod, this.#dnsSettings());
    const names = sandboxNames(pod, settings.clusterDomain);
    return buildSandbox({ pod, attempt, volumes, facts: node, names, dns, hintsPrefix: `${provider.name}.outrigger/` });
  }

  async ensure(
    provider: ContainerProvider,
    { attempt, replaces }: Extract<ContainerAction, { type: 'ensureSandbox' }>,
    turn: Turn,
  ): Promise<void> {
    const pod = podOf(turn.snapshot);
    if (replaces) {
      this.#deps.events.pod(pod, {
        type: 'Normal',
        reason: 'SandboxChanged',
        message: 'Pod sandbox changed, it will be killed and re-created.',
      });
    }
    if (this.#waitForNetwork(provider, pod, turn)) return;
    await this.attempt(turn, async () => {
      const spec = await this.complete(turn, attempt);
      this.#tellDnsProblems(pod);
      await this.#deps.limit(() => this.#make(provider, spec, pod, turn.signal));
      turn.memory = filled(turn.memory, spec.volumes);
    });
  }

  /** Volumes that only the backend can judge (a path of its host) fail like those that cannot be resolved. */
  async #make(provider: ContainerProvider, spec: SandboxSpec, pod: Pod, signal: AbortSignal): Promise<void> {
    try {
      await provider.ensureSandbox(spec, { signal });
    } catch (error: unknown) {
      if (!isProviderError(error)) throw error;
      const [first, ...others] = error.volumes.map(({ volume, message }) => new VolumeError(volume, message));
      if (first === undefined) throw error;
      const failure = new VolumeError(first.volume, first.message, { cause: error, others });
      this.#failedMount(pod, failure);
      throw failure;
    }
  }

  /** Without a pod network there is no sandbox; the node is NotReady for the same reason (reference 5.7, 16.1). */
  #waitForNetwork(provider: ContainerProvider, pod: Pod, turn: Turn): boolean {
    const { events, facts, clock, random } = this.#deps;
    if (provider.traits.network.subnet === 'unused' || pod.spec.hostNetwork === true || facts()?.podCidr !== undefined)
      return false;
    const message = `network is not ready: ${NO_POD_NETWORK}`;
    events.pod(pod, { type: 'Warning', reason: 'NetworkNotReady', message });
    const failures = (turn.memory.sandbox?.failures ?? 0) + 1;
    const retryAtMs = clock.now() + withJitter(NETWORK_RETRY_MS, 0.5, random);
    turn.memory = { ...turn.memory, sandbox: { reason: 'ContainerCreating', message, failures, retryAtMs } };
    return true;
  }

  /** Runs what makes a sandbox or a whole unit; a failure is told by an event and remembered with the time of the next try. */
  async attempt(turn: Turn, make: () => Promise<void>): Promise<void> {
    const { clock, random, events, log } = this.#deps;
    const { sandbox: previous, ...rest } = turn.memory;
    const pod = podOf(turn.snapshot);
    try {
      await make();
      this.#deps.metrics?.sandboxMade(true);
      const { sandbox: _, ...memory } = turn.memory;
      turn.memory = memory;
    } catch (error: unknown) {
      if (isAbortError(error, turn.signal) || isOutage(error)) throw error;
      this.#deps.metrics?.sandboxMade(false);
      const message = errorMessage(error);
      const nowMs = clock.now();
      const failures = (previous?.failures ?? 0) + 1;
      // Events tell each try; here the first one has the stack, and an object that is missing for hours is one line.
      log[failures === 1 ? 'warn' : 'debug']({ err: error, pod: formatPod(pod), failures }, 'pod cannot be set up');
      if (error instanceof VolumeError) {
        turn.memory = { ...rest, sandbox: mountFailure({ reason: 'ContainerCreating', message, previous, nowMs }) };
        return;
      }
      if (isProviderError(error) && error.permanent) {
        // The backend can never run it: the same end as a refusal at admission, only later (contract: ProviderError.permanent).
        const rejection = { reason: error.reason ?? 'ProviderUnsupported', message };
        turn.memory = { ...rest, admission: { type: 'rejected', rejection } };
        events.pod(pod, { type: 'Warning', ...rejection });
        return;
      }
      events.pod(pod, {
        type: 'Warning',
        reason: 'FailedCreatePodSandBox',
        message: `Failed to create pod sandbox: ${message}`,
      });
      turn.memory = {
        ...rest,
        sandbox: startFailure({ reason: 'ContainerCreating', message, previous, nowMs, random }),
      };
    }
  }

  /** Brings changed content into the volumes of a live pod: rotated tokens, edited objects (reference 9.3). */
  async refreshVolumes(turn: Turn): Promise<void> {
    const { provider, clock } = this.#deps;
    const { signal, snapshot } = turn;
    try {
      const { volumes } = await this.resolve(turn, snapshot.observed?.attempt ?? 0);
      for (const volume of volumes) {
        if (volume.kind !== 'files' || sameContent(volume, turn.memory.volumes)) continue;
        if (provider.updateFiles === undefined) this.#tellFixed(turn, volume.name);
        else await provider.updateFiles(snapshot.uid, volume, { signal });
      }
      turn.memory = filled(turn.memory, volumes);
    } catch (error: unknown) {
      if (isAbortError(error, signal) || isOutage(error)) throw error;
      if (!(error instanceof VolumeError))
        this.#deps.log.warn({ err: error, uid: snapshot.uid }, 'volume content cannot be refreshed');
      turn.memory = { ...turn.memory, refreshNotBeforeMs: clock.now() + REFRESH_RETRY_MS };
    }
  }

  /** Said once per change, and not of content that this process has only not seen yet. */
  #tellFixed({ snapshot, memory }: Turn, volume: string): void {
    if (memory.volumes === undefined) return;
    const message = `Volume "${volume}" has changed, but the backend keeps its content as it was at the start of the pod`;
    this.#deps.events.pod(podOf(snapshot), { type: 'Warning', reason: 'VolumeContentFixed', message });
  }

  #tellDnsProblems(pod: Pod): void {
    const { warnings } = podDns(pod, this.#dnsSettings());
    for (const warning of warnings) this.#deps.events.pod(pod, { type: 'Warning', ...warning });
  }

  #dnsSettings(): DnsSettings {
    const { settings, facts } = this.#deps;
    return { servers: settings.clusterDns, domain: settings.clusterDomain, nodeResolvConf: facts()?.resolvConf };
  }

  #failedMount(pod: Pod, error: VolumeError): void {
    for (const { told } of [error, ...error.others])
      this.#deps.events.pod(pod, { type: 'Warning', reason: 'FailedMount', message: told });
  }
}

/** The backend now has the content of all `files` volumes. */
function filled({ refreshNotBeforeMs: _, ...memory }: PodMemory, volumes: readonly VolumeSpec[]): PodMemory {
  return { ...memory, volumes, volumesDirty: false };
}

function sameContent(
  volume: Extract<VolumeSpec, { kind: 'files' }>,
  known: readonly VolumeSpec[] | undefined,
): boolean {
  return (
    known?.some(
      (other) => other.kind === 'files' && other.name === volume.name && other.revision === volume.revision,
    ) ?? false
  );
}
