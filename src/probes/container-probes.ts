import type { ObservedContainer, ObservedPod } from '../../providers/contract/index.ts';
import type { Container, ContainerStatus, Pod } from '../model/pod.ts';
import { shouldRestart } from '../model/restart.ts';
import type { ProbeFailure } from '../model/stores.ts';
import { type LoopDeps, ProbeLoop } from './loop.ts';
import type { Incarnation, ProbeSubject } from './subject.ts';

/** What all containers of a pod share, and what changes there. */
export interface PodView {
  pod: Pod;
  podIP: string;
}

/** The probes of one container, through all its incarnations. */
export class ContainerProbes implements ProbeSubject {
  readonly container: Container;
  readonly #view: Readonly<PodView>;
  readonly #deps: LoopDeps;
  readonly #startup: ProbeLoop | undefined;
  readonly #readiness: ProbeLoop | undefined;
  readonly #liveness: ProbeLoop | undefined;
  readonly #loops: readonly ProbeLoop[];
  #current: Incarnation | undefined;
  /** It has ended and its policy forbids another run. */
  #over = false;

  constructor(deps: LoopDeps, view: Readonly<PodView>, container: Container, changed: () => void) {
    this.container = container;
    this.#view = view;
    this.#deps = deps;
    const { startupProbe, readinessProbe, livenessProbe } = container;
    this.#startup = startupProbe && new ProbeLoop(deps, 'startup', startupProbe, this, changed);
    this.#readiness = readinessProbe && new ProbeLoop(deps, 'readiness', readinessProbe, this, changed);
    this.#liveness = livenessProbe && new ProbeLoop(deps, 'liveness', livenessProbe, this, changed);
    this.#loops = [this.#startup, this.#readiness, this.#liveness].filter((loop) => loop !== undefined);
  }

  get pod(): Pod {
    return this.#view.pod;
  }

  get podIP(): string {
    return this.#view.podIP;
  }

  get current(): Incarnation | undefined {
    return this.#current;
  }

  get started(): boolean {
    return this.#startup === undefined || this.#startup.state.result === 'success';
  }

  startedAs(attempt: number): boolean {
    return this.#startup === undefined || (this.#current?.attempt === attempt && this.started);
  }

  readyAs(attempt: number): boolean {
    if (this.#readiness === undefined) return true;
    return this.#current?.attempt === attempt && this.#readiness.state.result === 'success';
  }

  failureOf(attempt: number): ProbeFailure | undefined {
    if (this.#current?.attempt !== attempt) return undefined;
    for (const loop of [this.#startup, this.#liveness]) {
      if (loop?.state.result !== 'failure' || loop.kind === 'readiness') continue;
      const graceSeconds = loop.probe.terminationGracePeriodSeconds;
      return { probe: loop.kind, ...(graceSeconds === undefined ? {} : { graceSeconds }) };
    }
    return undefined;
  }

  /** Takes over what the backend has of the container. Whether a result is another one now. */
  follow(observed: ObservedPod | undefined): boolean {
    const newest = newestOf(observed, this.container.name);
    const before = this.#current;
    if (newest === undefined) {
      this.#current = before && { ...before, running: false };
      return this.#notRunning(before);
    }
    const { id, attempt, state } = newest;
    const running = state.status === 'running';
    this.#over = state.status === 'exited' && !shouldRestart(this.pod, this.container, state.exitCode);
    if (before?.id === id && before.attempt === attempt) {
      if (before.running === running) return false;
      this.#current = { ...before, running, ...(running ? { startedMs: this.#startedMs(state.startedAt) } : {}) };
      return running ? false : this.#notRunning(before);
    }
    const startedMs = state.status === 'running' ? this.#startedMs(state.startedAt) : 0;
    this.#current = { id, attempt, running, startedMs };
    return this.#begin(newest);
  }

  /** Starts and ends loops as far as the pod goes on. Whether a result is another one now. */
  settle({ stopping, ended }: { readonly stopping: boolean; readonly ended: boolean }): boolean {
    let changed = false;
    for (const loop of this.#loops) {
      const stops = stopping && loop.kind !== 'readiness';
      if (stops && this.#current?.running === true) changed = loop.step({ type: 'stopping' }) || changed;
      if (ended || this.#over || stops) loop.end();
      else if (!stopping) loop.begin();
    }
    const waits = this.#current?.running === true && this.started && this.#readiness?.state.result === 'failure';
    if (waits) this.#readiness?.trigger();
    return changed;
  }

  end(): void {
    for (const loop of this.#loops) loop.end();
  }

  /** Seconds is the precision of the API's times, and so of the kubelet's delays. */
  #startedMs(startedAt: Date): number {
    return this.#deps.steady.at(Math.floor(startedAt.getTime() / 1000) * 1000);
  }

  #notRunning(before: Incarnation | undefined): boolean {
    if (before?.running !== true) return false;
    let changed = false;
    for (const loop of this.#loops) {
      loop.drop();
      changed = loop.step({ type: 'notRunning' }) || changed;
    }
    return changed;
  }

  #begin(newest: ObservedContainer): boolean {
    const known = newest.state.status === 'running' && survivor(this.pod, newest);
    let changed = false;
    for (const loop of this.#loops) {
      loop.drop();
      const survived =
        known && (loop.kind === 'startup' ? known.started === true : loop.kind === 'readiness' && isReady(this.pod));
      changed = loop.step({ type: 'incarnation', survived }) || changed;
    }
    return changed;
  }
}

function newestOf(observed: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  let newest: ObservedContainer | undefined;
  for (const container of observed?.containers ?? []) {
    if (container.name !== name || (newest !== undefined && container.attempt < newest.attempt)) continue;
    if (container.attempt === newest?.attempt && container.createdAt < newest.createdAt) continue;
    newest = container;
  }
  return newest;
}

/**
 * What the API server has of this very incarnation when we see it for the first time: then another process has written it, and
 * this container is older than we are. The kubelet goes by a start of more than 10 s before its own (reference 4.8).
 */
function survivor({ status }: Pod, { name, id }: ObservedContainer): ContainerStatus | false {
  const all = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  const known = all.find((entry) => entry.name === name);
  return known?.state?.running !== undefined && known.containerID?.endsWith(`://${id}`) === true && known;
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}
