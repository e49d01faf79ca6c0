import { isDeepStrictEqual } from 'node:util';
import { isProviderError, type ObservedContainer, type PodUid } from '../../providers/contract/index.ts';
import type { Pod, PodStatus } from '../model/pod.ts';
import type { DesiredStore, NodeFacts } from '../model/stores.ts';
import { changedContainers } from '../spec/labels.ts';
import { computeStatus } from '../status/compute.ts';
import type { Logger } from '../telemetry/logger.ts';
import { backoffDelayMs, withJitter } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { isOutage } from './failure.ts';
import { milestones } from './milestones.ts';
import type { Action, Plan } from './plan/actions.ts';
import { EMPTY_MEMORY, type PodMemory, setBack } from './plan/memory.ts';
import { type MessageSources, unread, withWords } from './plan/messages.ts';
import { type Snapshot, stopKey } from './plan/snapshot.ts';
import { waitingReasons } from './plan/waiting.ts';
import type { HookControl, PodObserver, ProbeControl, StatusSink, VolumeSource } from './ports.ts';
import { probeView, startedContainers, unhealthyContainers, withoutStarting } from './probe-view.ts';
import type { Turn } from './turn.ts';

/** Back-off of a whole turn whose backend or API server is away. */
const RETRY = { baseMs: 1_000, maxMs: 30_000 };
const MAX_RETRY_AFTER_MS = 300_000;
/** A pod is looked at again after 60 to 90 s even when nothing happened (reference 16.1). */
const RESYNC_MS = 60_000;
/** More steps than this in one turn mean that a plan never reaches its fixed point: a bug, cut and logged. */
const MAX_STEPS = 30;

export interface WorkerDeps {
  readonly desired: DesiredStore;
  readonly observed: {
    get(uid: PodUid): { readonly pod: Snapshot['observed'] } | undefined;
    refresh(uid: PodUid, options: { readonly signal: AbortSignal }): Promise<void>;
  };
  readonly plan: (snapshot: Snapshot) => Plan;
  readonly messages: MessageSources;
  readonly execute: (action: Action, turn: Turn) => Promise<void>;
  readonly status: StatusSink;
  readonly volumes: Pick<VolumeSource, 'refreshAt'>;
  readonly probes: ProbeControl;
  readonly hooks: Pick<HookControl, 'states'>;
  readonly facts: () => NodeFacts | undefined;
  readonly maxBackoffMs: number;
  readonly metrics?: PodObserver;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

const NONE: ReadonlySet<string> = new Set();
/** Orphans get one second (reference 17.1.5). */
const ORPHAN_STOP = { type: 'removed', graceSeconds: 1 } as const;

/** One pod: each turn freezes what is known, plans, acts, and looks again, until nothing is left to do now. */
export class PodWorker {
  readonly #uid: PodUid;
  readonly #deps: WorkerDeps;
  #memory: PodMemory = EMPTY_MEMORY;
  #markedDirty = false;
  /** The backend was asked for something and nobody has looked since: what is known of the pod may be outdated. */
  #unseen = false;
  /** When the clock was read last. */
  #lastMs = Number.NEGATIVE_INFINITY;
  /** What the probes had given up at the last look. */
  #unhealthy: Snapshot['unhealthy'] = new Map();

  constructor(uid: PodUid, deps: WorkerDeps) {
    this.#uid = uid;
    this.#deps = deps;
  }

  get memory(): PodMemory {
    return this.#memory;
  }

  admit(admission: NonNullable<PodMemory['admission']>): void {
    this.#memory = { ...this.#memory, admission };
  }

  /** Some object that a volume shows has changed. */
  markVolumesDirty(): void {
    this.#markedDirty = true;
    this.#memory = { ...this.#memory, volumesDirty: true };
  }

  /** What is left of a back-off is not waited for: the pod is to be stopped, or the backend is back. */
  hurry(): void {
    this.#memory = withoutRetry(this.#memory);
  }

  /** Runs until nothing is left to do now. Never rejects. Answers when to look again; 'done' means the pod is forgotten. */
  async turn(signal: AbortSignal): Promise<{ readonly wakeAtMs: number } | 'done'> {
    const { clock, log, random } = this.#deps;
    try {
      const outcome = await this.#steps(signal);
      if (this.#memory.retry !== undefined && this.#memory.retry.atMs <= clock.now())
        this.#memory = withoutRetry(this.#memory);
      return outcome;
    } catch (error: unknown) {
      // Whatever a step that was cut short threw says nothing about the backend.
      if (signal.aborted) return { wakeAtMs: clock.now() };
      const nowMs = this.#now();
      const failures = (this.#memory.retry?.failures ?? 0) + 1;
      const delayMs = Math.max(retryAfter(error), withJitter(backoffDelayMs(RETRY, failures), 0.5, random));
      this.#memory = { ...this.#memory, retry: { failures, atMs: nowMs + delayMs } };
      // An outage is told once by who found it (PLEG, reflector); a hundred pods repeating it would hide everything else.
      const level = isOutage(error) ? 'debug' : 'warn';
      log[level]({ err: error, uid: this.#uid, failures, delayMs }, 'pod turn failed');
      return { wakeAtMs: nowMs + delayMs };
    }
  }

  async #steps(signal: AbortSignal): Promise<{ readonly wakeAtMs: number } | 'done'> {
    const { clock, observed, plan, random } = this.#deps;
    if (this.#unseen || observed.get(this.#uid) === undefined) await this.#look(signal);
    let last: readonly Action[] | undefined;
    for (let step = 0; step < MAX_STEPS; step++) {
      signal.throwIfAborted();
      const snapshot = this.#snapshot();
      this.#noticeFailures(snapshot);
      const next = plan(snapshot);
      this.#report(snapshot, next);
      const retryAtMs = this.#memory.retry?.atMs;
      const held = retryAtMs !== undefined && clock.now() < retryAtMs;
      if (next.actions.length === 0 || held) {
        const resyncAtMs = clock.now() + withJitter(RESYNC_MS, 0.5, random);
        return { wakeAtMs: Math.min(held ? retryAtMs : resyncAtMs, next.wakeAtMs ?? resyncAtMs) };
      }
      // The backend took the request and nothing came of it (yet): asking again at once would be a loop.
      if (next.actions.some(touchesBackend) && isDeepStrictEqual(next.actions, last))
        throw new Error(`no effect: ${next.actions.map(typeOf).join(', ')}`);
      last = next.actions;
      if ((await this.#act(snapshot, next.actions, signal)) === 'done') return 'done';
    }
    throw new Error(`no fixed point after ${MAX_STEPS} steps`);
  }

  async #act(snapshot: Snapshot, actions: readonly Action[], signal: AbortSignal): Promise<'done' | 'again'> {
    this.#markedDirty = false;
    const turn: Turn = {
      snapshot,
      signal,
      memory: this.#memory,
      blocked: new Set(),
      started: new Set(),
      forgotten: false,
    };
    try {
      for (const action of actions) {
        signal.throwIfAborted();
        if ('container' in action && turn.blocked.has(action.container)) continue;
        if (touchesBackend(action)) this.#unseen = true;
        await this.#deps.execute(action, turn);
      }
    } finally {
      // A change that came while the step resolved its volumes may not be in what the step wrote.
      this.#memory = this.#markedDirty ? { ...turn.memory, volumesDirty: true } : turn.memory;
    }
    if (turn.forgotten) return 'done';
    if (this.#unseen) await this.#look(signal);
    this.#reportRun(turn.started);
    return 'again';
  }

  /** A container that a probe gives up does not wait for what else went wrong with the pod; once, so that a failing stop waits. */
  #noticeFailures({ unhealthy }: Snapshot): void {
    if ([...unhealthy.keys()].some((key) => !this.#unhealthy.has(key))) this.hurry();
    this.#unhealthy = unhealthy;
  }

  async #look(signal: AbortSignal): Promise<void> {
    await this.#deps.observed.refresh(this.#uid, { signal });
    this.#unseen = false;
  }

  #now(): number {
    const nowMs = this.#deps.clock.now();
    if (nowMs < this.#lastMs) this.#memory = setBack(this.#memory, this.#lastMs - nowMs);
    this.#lastMs = nowMs;
    return nowMs;
  }

  #snapshot(): Snapshot {
    const { desired, observed, volumes, probes, hooks, maxBackoffMs } = this.#deps;
    const nowMs = this.#now();
    const entry = desired.get(this.#uid);
    const seen = observed.get(this.#uid)?.pod;
    return {
      uid: this.#uid,
      pod: entry?.pod,
      stop: entry === undefined ? ORPHAN_STOP : entry.stop,
      observed: seen,
      memory: this.#memory,
      nowMs,
      refreshAtMs: volumes.refreshAt(this.#uid),
      changed: entry === undefined ? NONE : changedContainers(entry.pod, seen),
      unhealthy: unhealthyContainers(probes, seen),
      started: startedContainers(probes, seen),
      hooks: hooks.states(this.#uid),
      maxBackoffMs,
    };
  }

  /** Computes the pod's status from the same snapshot and hands it to the writer; nothing is written for an object that is gone. */
  #report(snapshot: Snapshot, next: Plan): void {
    const { pod, stop } = snapshot;
    if (pod === undefined || stop?.type === 'removed') {
      this.#deps.probes.forget(this.#uid);
      return;
    }
    // Killed for its health and started again in one go: the moment between is not shown, as on the kubelet (oracle case 054).
    if (next.actions.some((action) => startsAfterKill(snapshot, action))) return;
    // An end is told together with its message, which is about to be read.
    if (next.actions.some(({ type }) => type === 'readMessage')) return;
    const { probes } = this.#deps;
    const admission = this.#memory.admission?.type;
    const observed = withoutStarting(snapshot.observed, snapshot.hooks);
    if (admission !== 'rejected') probes.observe(pod, observed);
    const status = this.#submit({ ...snapshot, pod, observed }, next.finished === true);
    if (admission === 'accepted') probes.sync({ pod, observed, status, stopping: stop !== undefined });
  }

  #submit(snapshot: Snapshot & { readonly pod: Pod }, finished: boolean): PodStatus {
    const { pod } = snapshot;
    const before = this.#memory.status ?? pod.status ?? {};
    const status = this.#compute(snapshot, finished);
    this.#memory = { ...this.#memory, status };
    this.#tell(pod, before, status);
    this.#deps.status.submit(pod, status);
    return status;
  }

  #tell(pod: Pod, before: PodStatus, after: PodStatus): void {
    const { metrics, clock } = this.#deps;
    if (metrics === undefined) return;
    const { ended, running } = milestones(before, after);
    for (const { type, exitCode, reason } of ended) metrics.containerEnded(type, exitCode, reason);
    if (!running) return;
    const nowMs = clock.now();
    const createdMs = Date.parse(pod.metadata.creationTimestamp ?? '') || nowMs;
    const seconds = (ms: number): number => Math.max(0, ms) / 1000;
    metrics.podRunning({
      sinceSeen: seconds(nowMs - (this.#deps.desired.seenMs(this.#uid) ?? nowMs)),
      sinceCreated: seconds(nowMs - createdMs),
      pulling: seconds(this.#memory.pullMs),
    });
  }

  /**
   * A container that ended before we could look at it did run: the status says so once, as on the kubelet, so that whoever
   * watches sees Running before the end.
   */
  #reportRun(started: ReadonlySet<string>): void {
    if (started.size === 0) return;
    const snapshot = this.#snapshot();
    const { observed, pod, stop } = snapshot;
    const ran = (container: ObservedContainer): boolean =>
      started.has(stopKey(container.name, container.attempt)) && container.state.status === 'exited';
    const silent = new Set(unread(snapshot, this.#deps.messages));
    if (pod === undefined || stop?.type === 'removed') return;
    if (observed === undefined || !observed.containers.some(ran)) return;
    const containers = observed.containers.map((container) =>
      ran(container) || silent.has(container) ? asRunning(container) : container,
    );
    // Not told to the probes: it does not run any more.
    this.#submit({ ...snapshot, pod, observed: { ...observed, containers } }, false);
  }

  #compute(snapshot: Snapshot & { readonly pod: Pod }, finished: boolean): PodStatus {
    const { pod, observed, memory, nowMs, stop } = snapshot;
    const rejection = memory.admission?.type === 'rejected' ? memory.admission.rejection : undefined;
    return computeStatus({
      pod,
      observed: withWords(observed, memory.messages),
      previous: memory.status ?? pod.status ?? {},
      waiting: waitingReasons(snapshot),
      probes: probeView(this.#deps.probes, this.#uid),
      host: this.#deps.facts(),
      nowMs,
      finished,
      terminating: stop !== undefined,
      ...(rejection === undefined ? {} : { rejection }),
      ...(memory.override === undefined ? {} : { override: memory.override }),
    });
  }
}

function touchesBackend(action: Action): boolean {
  switch (action.type) {
    case 'overrule':
    case 'showStopped':
    case 'pullImage':
    case 'readMessage':
    case 'refreshVolumes':
    case 'showBackOff':
    case 'writeFinalStatus':
    case 'deleteObject':
    case 'forget':
      return false;
    default:
      return true;
  }
}

function startsAfterKill({ memory }: Snapshot, action: Action): boolean {
  if (action.type !== 'startContainer') return false;
  return memory.stops.get(stopKey(action.container, action.attempt - 1))?.restart?.type === 'unhealthy';
}

function withoutRetry({ retry: _, ...memory }: PodMemory): PodMemory {
  return memory;
}

/** What the backend asks for; never less than our own back-off, and not so long that a mistake parks the pod. */
function retryAfter(error: unknown): number {
  return Math.min((isProviderError(error) && error.retryAfterMs) || 0, MAX_RETRY_AFTER_MS);
}

function typeOf({ type }: Action): string {
  return type;
}

function asRunning(container: ObservedContainer): ObservedContainer {
  const { state } = container;
  const startedAt = state.status === 'exited' ? (state.startedAt ?? container.createdAt) : container.createdAt;
  return { ...container, state: { status: 'running', startedAt } };
}
