import type { DialFacet, ExecFacet, ObservedPod, PodUid } from '../../providers/contract/index.ts';
import { type Container, isTerminalPhase, type Pod, podUid } from '../model/pod.ts';
import { isSidecar } from '../model/restart.ts';
import type { ProbeFailure } from '../model/stores.ts';
import type { EventSink, ProbeControl, ProbeInput } from '../pod/ports.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import { ContainerProbes, type PodView } from './container-probes.ts';
import type { LoopDeps } from './loop.ts';
import type { ProbeMetrics } from './metrics.ts';
import { ProbeRunner } from './runner.ts';
import { SteadyClock } from './steady-clock.ts';

export interface ProberOptions {
  /** Absent where the backend cannot: admission refuses pods that need it. */
  readonly exec?: ExecFacet;
  readonly dial?: DialFacet;
  readonly events: EventSink;
  /** A result has changed: look at this pod again. */
  readonly notify: (uid: PodUid) => void;
  readonly metrics?: ProbeMetrics;
  /** When this process started; younger than one period, it spreads the first probes (reference 4.2.1). */
  readonly processStartMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Pick<Logger, 'debug' | 'error'>;
  /** Life of the node: ends all probes. */
  readonly signal: AbortSignal;
}

interface PodProbes extends PodView {
  readonly containers: ReadonlyMap<string, ContainerProbes>;
}

/** The probes of all pods of one node (reference 4). */
export class Prober implements ProbeControl {
  readonly #notify: (uid: PodUid) => void;
  readonly #deps: LoopDeps;
  /** Pods that have probes at all. */
  readonly #pods = new Map<PodUid, PodProbes>();

  constructor(options: ProberOptions) {
    const { exec, dial, notify, events, metrics, processStartMs, clock, random, log, signal } = options;
    this.#notify = notify;
    const runner = new ProbeRunner({
      ...(exec === undefined ? {} : { exec }),
      ...(dial === undefined ? {} : { dial }),
      clock,
      random,
    });
    const steady = new SteadyClock(clock);
    this.#deps = {
      runner,
      events,
      ...(metrics === undefined ? {} : { metrics }),
      clock,
      steady,
      random,
      processStartMs,
      log,
      signal,
    };
    signal.addEventListener('abort', () => this.#endAll(), { once: true });
  }

  observe(pod: Pod, observed: ObservedPod | undefined): void {
    this.#follow(pod, observed);
  }

  sync({ pod, observed, status, stopping }: ProbeInput): void {
    const uid = podUid(pod);
    let changed = this.#follow(pod, observed);
    const probes = this.#pods.get(uid);
    if (probes === undefined || this.#deps.signal.aborted) return;
    probes.podIP = status.podIP ?? observed?.ips[0] ?? probes.podIP;
    const ended = isTerminalPhase(status.phase);
    for (const container of probes.containers.values()) changed = container.settle({ stopping, ended }) || changed;
    if (changed) this.#notify(uid);
  }

  started(uid: PodUid, container: string, attempt: number): boolean {
    return this.#pods.get(uid)?.containers.get(container)?.startedAs(attempt) ?? true;
  }

  ready(uid: PodUid, container: string, attempt: number): boolean {
    return this.#pods.get(uid)?.containers.get(container)?.readyAs(attempt) ?? true;
  }

  failure(uid: PodUid, container: string, attempt: number): ProbeFailure | undefined {
    return this.#pods.get(uid)?.containers.get(container)?.failureOf(attempt);
  }

  forget(uid: PodUid): void {
    for (const container of this.#pods.get(uid)?.containers.values() ?? []) container.end();
    this.#pods.delete(uid);
  }

  /** The results stay: nobody may see a container become ready because the process ends. */
  #endAll(): void {
    for (const { containers } of this.#pods.values()) for (const container of containers.values()) container.end();
  }

  #follow(pod: Pod, observed: ObservedPod | undefined): boolean {
    const probes = this.#pods.get(podUid(pod)) ?? this.#make(pod);
    if (probes === undefined) return false;
    probes.pod = pod;
    let changed = false;
    for (const container of probes.containers.values()) changed = container.follow(observed) || changed;
    return changed;
  }

  #make(pod: Pod): PodProbes | undefined {
    const probed = probedContainers(pod);
    if (probed.length === 0) return undefined;
    const uid = podUid(pod);
    const view: PodView = { pod, podIP: '' };
    const changed = (): void => this.#notify(uid);
    const containers = new Map(
      probed.map((container) => [container.name, new ContainerProbes(this.#deps, view, container, changed)]),
    );
    const probes = Object.assign(view, { containers });
    this.#pods.set(uid, probes);
    return probes;
  }
}

/** Plain init and ephemeral containers have no probes. Those of others are taken once: changes of the spec are ignored (reference 4.2). */
function probedContainers({ spec }: Pod): readonly Container[] {
  return [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)].filter(
    ({ startupProbe, readinessProbe, livenessProbe }) => startupProbe ?? readinessProbe ?? livenessProbe,
  );
}
