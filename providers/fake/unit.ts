import type { ContainerSpec, Labels, PodPlanSpec } from '../contract/index.ts';
import { isProviderError } from '../contract/index.ts';
import type { FakeBackend } from './backend.ts';
import type { FakeContainer } from './container.ts';
import type { FakePod } from './pod.ts';

/**
 * A pod-level backend's own sequencing of one unit: pulls, init containers one by one, sidecars, main containers, and what
 * happens when one ends. Driven by changes of its pod; it looks at the containers afresh each time.
 */
export class FakeUnit {
  readonly #backend: FakeBackend;
  readonly #pod: FakePod;
  readonly #plan: PodPlanSpec;
  readonly #labels: (labels: Labels) => Labels;
  readonly #life = new AbortController();
  /** The newest incarnation of each container, in spec order. */
  readonly #current: FakeContainer[] = [];
  readonly #restarting = new Set<FakeContainer>();
  #advancing = false;
  #again = false;

  constructor(backend: FakeBackend, pod: FakePod, plan: PodPlanSpec, labels: (labels: Labels) => Labels) {
    this.#backend = backend;
    this.#pod = pod;
    this.#plan = plan;
    this.#labels = labels;
  }

  /** Nothing is awaited by the caller: a launch is accepted, its outcome is observed. */
  launch(): void {
    for (const spec of this.#plan.containers) {
      const container = this.#add(spec);
      container.wait('ContainerCreating');
      this.#current.push(container);
    }
    void this.#begin().catch((error: unknown) => {
      if (!this.#life.signal.aborted && this.#pod.state !== 'stopped') this.#fail(error);
    });
  }

  /** To be called after every change of the pod. Changes made here call it again; that becomes one more round. */
  advance(): void {
    if (this.#advancing) {
      this.#again = true;
      return;
    }
    this.#advancing = true;
    do {
      this.#again = false;
      this.#round();
    } while (this.#again);
    this.#advancing = false;
  }

  stop(graceSeconds: number): void {
    if (this.#pod.state === 'stopped') return;
    this.#pod.become('stopping');
    for (const container of this.#current) if (isRunning(container)) container.stop(graceSeconds);
    this.advance();
    if (graceSeconds <= 0) return;
    // The backend keeps the time here, as ECS does; an earlier kill makes this one find nothing.
    void this.#backend.clock.sleep(graceSeconds * 1000, { signal: this.#life.signal }).then(
      () => this.stop(0),
      () => undefined,
    );
  }

  dispose(): void {
    this.#life.abort();
  }

  async #begin(): Promise<void> {
    const { signal } = this.#life;
    const { startMs } = this.#backend.config.latency;
    for (const { image } of this.#plan.containers)
      if (this.#backend.images.find(image) === undefined) await this.#backend.images.pull(image, { signal });
    if (startMs > 0) await this.#backend.clock.sleep(startMs, { signal });
    if (this.#pod.state !== 'pending') return;
    this.#pod.become('ready');
    this.advance();
  }

  #fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const reason = isProviderError(error, 'ImageNotFound', 'ImagePullDenied')
      ? 'CannotPullContainerError'
      : 'TaskFailed';
    this.#finish(reason, message);
  }

  #round(): void {
    if (this.#pod.state === 'stopping') {
      if (!this.#current.some(isRunning)) this.#finish();
      return;
    }
    if (this.#pod.state !== 'ready') return;
    for (const container of this.#current) {
      if (container.spec.role === 'main') break;
      if (!this.#advanceInit(container)) return;
    }
    const mains = this.#current.filter(({ spec }) => spec.role === 'main');
    for (const container of mains) if (container.state.status === 'waiting') container.start();
    for (const container of mains) if (this.#mustRestart(container)) this.#restart(container);
    if (this.#pod.state !== 'ready' || mains.some((container) => this.#mustRestart(container))) return;
    if (mains.every(({ state }) => state.status === 'exited')) this.#stopRest();
  }

  /** True when the next container may start. */
  #advanceInit(container: FakeContainer): boolean {
    if (container.state.status === 'waiting') container.start();
    const { state } = container;
    if (container.spec.role === 'sidecar') {
      if (state.status === 'exited') this.#restart(container);
      return state.status === 'running';
    }
    if (state.status !== 'exited') return false;
    if (state.exitCode === 0) return true;
    if (this.#plan.restartPolicy === 'Never') this.#stopRest('EssentialContainerExited');
    else this.#restart(container);
    return false;
  }

  #mustRestart(container: FakeContainer): boolean {
    const { state } = container;
    if (state.status !== 'exited') return false;
    const policy = this.#plan.restartPolicy;
    return policy === 'Always' || (policy === 'OnFailure' && state.exitCode !== 0);
  }

  #restart(container: FakeContainer): void {
    if (this.#backend.config.containerRestart === 'none') {
      this.#stopRest('EssentialContainerExited');
      return;
    }
    if (this.#restarting.has(container)) return;
    this.#restarting.add(container);
    void this.#backend.clock.sleep(this.#backend.config.restartDelayMs, { signal: this.#life.signal }).then(
      () => this.#replace(container),
      () => undefined,
    );
  }

  #replace(container: FakeContainer): void {
    this.#restarting.delete(container);
    if (this.#pod.state !== 'ready') return;
    const index = this.#current.indexOf(container);
    if (index === -1) return;
    // Only the last ended incarnation is remembered, as a kubelet does.
    const before = this.#pod.find(container.spec.name, container.spec.attempt - 1);
    if (before !== undefined) this.#pod.forget(before);
    const next = this.#add({ ...container.spec, attempt: container.spec.attempt + 1 });
    this.#current[index] = next;
    next.start();
    this.advance();
  }

  #stopRest(reason?: string): void {
    const running = this.#current.filter(isRunning);
    if (running.length === 0) {
      this.#finish(reason);
      return;
    }
    this.stop(this.#plan.graceSeconds);
  }

  #finish(reason?: string, message?: string): void {
    this.#life.abort();
    this.#pod.end(reason, message);
  }

  #add(spec: ContainerSpec): FakeContainer {
    const imageId = (): string => this.#backend.images.find(spec.image)?.imageId ?? '';
    return this.#pod.add(spec, this.#labels(spec.labels), imageId, this.#backend.scriptFor(this.#pod, spec));
  }
}

function isRunning(container: FakeContainer): boolean {
  return container.state.status === 'running';
}
