import {
  type CallOptions,
  type ContainerProvider,
  type ContainerSpec,
  isProviderError,
  type PulledImage,
  type SandboxSpec,
} from '../../providers/contract/index.ts';
import { findContainer } from '../model/containers.ts';
import { formatPod, type Pod } from '../model/pod.ts';
import { ContainerConfigError } from '../spec/config-error.ts';
import { isAbortError } from '../util/abort.ts';
import { errorMessage } from '../util/errors.ts';
import { containerSpec } from './container-spec.ts';
import type { ExecutorDeps } from './executor-deps.ts';
import { isOutage, startFailure } from './failure.ts';
import type { ContainerAction } from './plan/actions.ts';
import { type StartFailure, withEntry } from './plan/memory.ts';
import { backoffFromMs } from './plan/restart.ts';
import { stopKey } from './plan/snapshot.ts';
import { VolumeError } from './ports.ts';
import type { SandboxStep } from './sandbox.ts';
import { addressesOf, advanceBackoff, containerOf, containerPath, podOf, type Turn } from './turn.ts';

type StartAction = Extract<ContainerAction, { type: 'startContainer' }>;

/** Brings one container to life: image, specification, create and start (reference 2.5, 2.8, 3.3). */
export class StartStep {
  readonly #deps: ExecutorDeps;
  readonly #sandbox: SandboxStep;
  /** Images found by `pull`, for the `start` that follows in the same pass. */
  readonly #pulled = new WeakMap<Turn, Map<string, PulledImage>>();

  constructor(deps: ExecutorDeps, sandbox: SandboxStep) {
    this.#deps = deps;
    this.#sandbox = sandbox;
  }

  async pull(name: string, turn: Turn): Promise<void> {
    const pod = podOf(turn.snapshot);
    const startMs = this.#deps.clock.now();
    const result = await this.#deps.images.ensure(pod, containerOf(pod, name), containerPath(pod, name), {
      signal: turn.signal,
    });
    turn.memory = { ...turn.memory, pullMs: turn.memory.pullMs + this.#deps.clock.now() - startMs };
    if (result.type === 'failed') {
      this.#deps.metrics?.containerStarted(metricType(pod, name), result.reason);
      this.#remember(turn, name, { reason: result.reason, message: result.message }, result.retryAtMs);
      return;
    }
    const images = this.#pulled.get(turn) ?? new Map<string, PulledImage>();
    this.#pulled.set(turn, images.set(name, result.image));
  }

  async start(provider: ContainerProvider, { container: name, attempt }: StartAction, turn: Turn): Promise<void> {
    const pod = podOf(turn.snapshot);
    const options = { signal: turn.signal };
    try {
      const sandbox = await this.#sandbox.current(turn);
      const image = this.#pulled.get(turn)?.get(name);
      const spec = await this.#build(pod, name, attempt, turn, image);
      await this.#deps.limit(() => startAnew(provider, sandbox, spec, options));
      this.#deps.metrics?.containerStarted(metricType(pod, name));
      this.#event(pod, name, 'Normal', 'Created', 'Container created');
      this.#event(pod, name, 'Normal', 'Started', 'Container started');
      turn.started.add(stopKey(name, attempt));
      this.#postStart(pod, name, attempt, turn);
      turn.memory = { ...turn.memory, starts: withEntry(turn.memory.starts, name, undefined) };
    } catch (error: unknown) {
      if (isAbortError(error, turn.signal) || isOutage(error)) throw error;
      this.#failed(pod, name, attempt, error, turn);
    }
    advanceBackoff(turn, name, backoffFromMs(turn.snapshot, name), this.#deps.clock.now());
  }

  #postStart(pod: Pod, name: string, attempt: number, turn: Turn): void {
    const container = containerOf(pod, name);
    if (container.lifecycle?.postStart === undefined) return;
    const podIPs = addressesOf(pod, turn, this.#deps);
    this.#deps.hooks.begin({ kind: 'postStart', pod, container, attempt, podIPs });
  }

  #build(pod: Pod, name: string, attempt: number, turn: Turn, image: PulledImage | undefined): Promise<ContainerSpec> {
    const podIPs = addressesOf(pod, turn, this.#deps);
    const imageUser = image?.user;
    const input = { pod, name, attempt, podIPs, ...(imageUser === undefined ? {} : { imageUser }) };
    return containerSpec(this.#deps, input, { signal: turn.signal });
  }

  #failed(pod: Pod, name: string, attempt: number, error: unknown, turn: Turn): void {
    const message = errorMessage(error);
    const failures = (turn.memory.starts.get(name)?.failures ?? 0) + 1;
    const facts = { err: error, pod: formatPod(pod), container: name, attempt, failures };
    this.#deps.log[failures === 1 ? 'warn' : 'debug'](facts, 'container cannot be started');
    if (error instanceof VolumeError) {
      // Told as FailedMount already; the container simply stays as it is until the volume can be had.
      this.#remember(turn, name, { reason: 'ContainerCreating', message: '', attempt });
      return;
    }
    if (madeButNotStarted(error)) this.#event(pod, name, 'Normal', 'Created', 'Container created');
    const reason = waitingReason(error);
    this.#deps.metrics?.containerStarted(metricType(pod, name), reason);
    this.#event(pod, name, 'Warning', 'Failed', `Error: ${message}`);
    this.#remember(turn, name, { reason, message, attempt });
  }

  #remember(
    turn: Turn,
    name: string,
    failure: Pick<StartFailure, 'reason' | 'message' | 'attempt'>,
    retryAtMs?: number,
  ): void {
    const { clock, random } = this.#deps;
    const entry = startFailure({ ...failure, previous: turn.memory.starts.get(name), nowMs: clock.now(), random });
    turn.memory = {
      ...turn.memory,
      starts: withEntry(turn.memory.starts, name, retryAtMs === undefined ? entry : { ...entry, retryAtMs }),
    };
    turn.blocked.add(name);
  }

  #event(pod: Pod, name: string, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#deps.events.pod(pod, { type, reason, message, fieldPath: containerPath(pod, name) });
  }
}

/** `container_type` of the kubelet's metrics (reference 14.2); a sidecar is an init container. */
function metricType(pod: Pod, name: string): string {
  const role = findContainer(pod, name)?.role;
  if (role === 'ephemeral') return 'ephemeral_container';
  return role === 'init' || role === 'sidecar' ? 'init_container' : 'container';
}

/** What an earlier try made from what was true then (a Service came, a label changed) and never started is made anew, once. */
async function startAnew(
  provider: ContainerProvider,
  sandbox: SandboxSpec,
  spec: ContainerSpec,
  options: CallOptions,
): Promise<void> {
  try {
    await provider.startContainer(sandbox, spec, options);
  } catch (error: unknown) {
    if (!isProviderError(error, 'AlreadyExists')) throw error;
    const { name: container, attempt } = spec;
    await provider.removeContainer({ podUid: sandbox.pod.uid, container, attempt }, options);
    await provider.startContainer(sandbox, spec, options);
  }
}

/** Waiting reason of a start that failed (reference 1.5). */
function waitingReason(error: unknown): string {
  if (error instanceof ContainerConfigError) return error.reason;
  if (isProviderError(error) && error.reason === 'CreateContainerConfigError') return error.reason;
  return madeButNotStarted(error) ? 'RunContainerError' : 'CreateContainerError';
}

/** The contract's word for a container that exists but could not be started; it is observed as exited then. */
function madeButNotStarted(error: unknown): boolean {
  return isProviderError(error) && error.reason === 'StartError';
}
