import { type ContainerProvider, isProviderError, type PodProvider } from '../../providers/contract/index.ts';
import { findContainer } from '../model/containers.ts';
import { formatPod, type Pod } from '../model/pod.ts';
import { assertNever } from '../util/assert-never.ts';
import type { ExecutorDeps } from './executor-deps.ts';
import { LaunchStep } from './launch.ts';
import { MessageStep } from './messages.ts';
import type { Action, StopAction } from './plan/actions.ts';
import { withEntry } from './plan/memory.ts';
import { stopKey } from './plan/snapshot.ts';
import { UNIT } from './plan/unit.ts';
import { SandboxStep } from './sandbox.ts';
import { StartStep } from './start.ts';
import { addressesOf, containerPath, podOf, type Turn } from './turn.ts';

/** Runs one action of a plan. A failure that concerns one container is remembered for it; an outage is thrown and ends the turn. */
export class Executor {
  readonly #deps: ExecutorDeps;
  readonly #sandbox: SandboxStep;
  readonly #start: StartStep;
  readonly #launch: LaunchStep;
  readonly #messages: MessageStep;

  constructor(deps: ExecutorDeps) {
    this.#deps = deps;
    this.#sandbox = new SandboxStep(deps);
    this.#start = new StartStep(deps, this.#sandbox);
    this.#launch = new LaunchStep(deps, this.#sandbox);
    this.#messages = new MessageStep(deps);
  }

  async run(action: Action, turn: Turn): Promise<void> {
    const { volumes } = this.#deps;
    const { uid } = turn.snapshot;
    const options = { signal: turn.signal };
    switch (action.type) {
      case 'ensureSandbox':
        return this.#sandbox.ensure(this.#containers(), action, turn);
      case 'refreshVolumes':
        return this.#sandbox.refreshVolumes(turn);
      case 'readMessage':
        return this.#messages.read(action.container, action.attempt, turn);
      case 'pullImage':
        return this.#start.pull(action.container, turn);
      case 'startContainer':
        return this.#start.start(this.#containers(), action, turn);
      case 'stopContainer':
        return this.#stopContainer(action, turn);
      case 'beginStop':
        return this.#beginStop(action, turn);
      case 'removeContainer': {
        const ref = { podUid: uid, container: action.container, attempt: action.attempt };
        return this.#drive(() => this.#containers().removeContainer(ref, options));
      }
      case 'stopSandbox':
        return this.#drive(() => this.#containers().stopSandbox(uid, options));
      case 'removeSandbox':
        return this.#drive(() => this.#containers().removeSandbox(uid, options));
      case 'launchPod':
        return this.#launch.launch(this.#pods(), action.attempt, turn);
      case 'stopPod':
        return this.#stopPod(action, turn);
      case 'removePod':
        return this.#drive(() => this.#pods().removePod(uid, options));
      case 'showBackOff':
        return this.#showBackOff(action.container, action.finishedAtMs, turn);
      case 'overrule': {
        const { reason, message } = action;
        this.#deps.events.pod(podOf(turn.snapshot), { type: 'Normal', reason, message });
        turn.memory = { ...turn.memory, override: { reason, message } };
        return;
      }
      case 'showStopped':
        await this.#flush(turn);
        turn.memory = { ...turn.memory, stoppedShown: true };
        return;
      case 'writeFinalStatus':
        await this.#flush(turn);
        turn.memory = { ...turn.memory, finalWritten: true };
        return;
      case 'deleteObject': {
        await this.#deps.status.remove(podOf(turn.snapshot), options);
        turn.memory = { ...turn.memory, deletedAtMs: this.#deps.clock.now() };
        return;
      }
      case 'forget':
        this.#deps.status.forget(uid);
        volumes.forget(uid);
        this.#deps.images.forget(uid);
        this.#deps.probes.forget(uid);
        this.#deps.hooks.forget(uid);
        this.#deps.forget(uid);
        turn.forgotten = true;
        return;
      default:
        assertNever(action);
    }
  }

  #containers(): ContainerProvider {
    const { provider } = this.#deps;
    if (provider.kind !== 'container')
      throw new Error('a container action was planned for a backend that runs whole pods');
    return provider;
  }

  #pods(): PodProvider {
    const { provider } = this.#deps;
    if (provider.kind !== 'pod') throw new Error('a pod action was planned for a backend that runs single containers');
    return provider;
  }

  /** Removals and stops: what is not there any more is done. */
  async #drive(call: () => Promise<void>): Promise<void> {
    try {
      await this.#deps.limit(call);
    } catch (error: unknown) {
      if (!isProviderError(error, 'NotFound')) throw error;
    }
  }

  /** The Killing event comes first, then the hook (reference 2.10). */
  #beginStop(action: Extract<Action, { type: 'beginStop' }>, turn: Turn): void {
    const { container: name, attempt, graceSeconds, preStop, why, restart } = action;
    const { pod } = turn.snapshot;
    this.#killing(name, pod, why);
    this.#rememberPostStart(name, attempt, turn);
    const container = pod && findContainer(pod, name)?.container;
    if (preStop && pod !== undefined && container !== undefined) {
      const podIPs = addressesOf(pod, turn, this.#deps);
      this.#deps.hooks.begin({ kind: 'preStop', pod, container, attempt, podIPs, seconds: graceSeconds });
    }
    const deadlineMs = this.#deps.clock.now() + graceSeconds * 1000;
    const stop = { deadlineMs, graceSeconds, held: true as const, ...(restart === undefined ? {} : { restart }) };
    turn.memory = { ...turn.memory, stops: withEntry(turn.memory.stops, stopKey(name, attempt), stop) };
  }

  async #stopContainer({ container, attempt, graceSeconds, why, restart }: StopAction, turn: Turn): Promise<void> {
    const { snapshot, signal } = turn;
    const nowMs = this.#deps.clock.now();
    const key = stopKey(container, attempt);
    const pending = turn.memory.stops.get(key);
    const ref = { podUid: snapshot.uid, container, attempt };
    if (pending === undefined) {
      this.#killing(container, snapshot.pod, why);
      this.#rememberPostStart(container, attempt, turn);
    }
    // A stop that is hurried (plan/stop.ts) gets an earlier deadline; the stop signal is not sent a second time.
    if (pending === undefined || pending.held || graceSeconds === 0) {
      await this.#drive(() => this.#containers().stopContainer(ref, { graceSeconds }, { signal }));
    }
    const asked = pending === undefined || pending.held ? Number.POSITIVE_INFINITY : pending.deadlineMs;
    const deadlineMs = Math.min(asked, nowMs + graceSeconds * 1000);
    const cause = restart ?? pending?.restart;
    const stop = {
      // The grace period as a whole; what was left of it decides about the kill.
      deadlineMs,
      graceSeconds: pending?.held ? pending.graceSeconds : graceSeconds,
      ...(graceSeconds === 0 ? { killedAtMs: nowMs } : {}),
      ...(cause === undefined ? {} : { restart: cause }),
    };
    turn.memory = { ...turn.memory, stops: withEntry(turn.memory.stops, key, stop) };
  }

  /** A container that is stopped because its hook failed has not started: its status says so from now on. */
  #rememberPostStart(name: string, attempt: number, turn: Turn): void {
    const hook = turn.snapshot.hooks.get(stopKey(name, attempt));
    if (hook?.postStart !== 'failed' || turn.snapshot.stop !== undefined) return;
    const failure = {
      attempt,
      reason: 'PostStartHookError',
      message: hook.message ?? '',
      failures: 1,
      retryAtMs: this.#deps.clock.now(),
    };
    turn.memory = { ...turn.memory, starts: withEntry(turn.memory.starts, name, failure) };
  }

  async #stopPod({ graceSeconds, why, restart }: Extract<Action, { type: 'stopPod' }>, turn: Turn): Promise<void> {
    const { snapshot, signal } = turn;
    const key = stopKey(UNIT, snapshot.observed?.attempt ?? 0);
    if (!turn.memory.stops.has(key)) {
      for (const { name, state } of snapshot.observed?.containers ?? [])
        if (state.status === 'running') this.#killing(name, snapshot.pod, why?.get(name));
    }
    await this.#drive(() => this.#pods().stopPod(snapshot.uid, { graceSeconds }, { signal }));
    const deadlineMs = this.#deps.clock.now() + graceSeconds * 1000;
    const stop = { graceSeconds, deadlineMs, ...(restart === undefined ? {} : { restart }) };
    turn.memory = { ...turn.memory, stops: withEntry(turn.memory.stops, key, stop) };
  }

  #killing(container: string, pod: Pod | undefined, why = `Stopping container ${container}`): void {
    if (pod === undefined) return;
    this.#deps.events.pod(pod, {
      type: 'Normal',
      reason: 'Killing',
      message: why,
      fieldPath: containerPath(pod, container),
    });
  }

  /** The kubelet says BackOff at each of its syncs; we say it once per exit (reference 2.4, 3.3). */
  #showBackOff(container: string, finishedAtMs: number, turn: Turn): void {
    const backoff = turn.memory.backoffs.get(container);
    if (backoff === undefined) return;
    turn.memory = {
      ...turn.memory,
      backoffs: withEntry(turn.memory.backoffs, container, { ...backoff, shownForMs: finishedAtMs }),
    };
    const pod = podOf(turn.snapshot);
    const names = container === UNIT ? pod.spec.containers.map(({ name }) => name) : [container];
    for (const name of names) {
      const message = `Back-off restarting failed container ${name} in pod ${formatPod(pod)}`;
      this.#deps.events.pod(pod, { type: 'Warning', reason: 'BackOff', message, fieldPath: containerPath(pod, name) });
    }
  }

  async #flush(turn: Turn): Promise<void> {
    const { status } = turn.memory;
    if (status !== undefined) await this.#deps.status.flush(podOf(turn.snapshot), status, { signal: turn.signal });
  }
}
