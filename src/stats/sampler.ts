import type { CallOptions, HostUsage, PodUsage, StatsFacet, StorageUsage } from '../../providers/contract/index.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort, untilAborted } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { Rates, type Reading } from './rates.ts';
import { HOST_KEY, rateKey, SANDBOX_PART, SELF_KEY, TOTAL_PART } from './view.ts';

export interface SamplerOptions {
  readonly facet: StatsFacet;
  readonly self?: () => SelfUsage;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** This process, as the runtime tells it. */
export interface SelfUsage {
  readonly startedMs: number;
  readonly cpuNanos: number;
  readonly rssBytes: number;
}

/** The kubelet's eviction manager asks this often, and all its numbers come from there. */
const INTERVAL_MS = 10_000;
/** volumeStatsAggPeriod. */
const STORAGE_INTERVAL_MS = 60_000;
/** For the sake of containers that have just started. */
const STORAGE_SPACING_MS = 10_000;
/** Walking disks may take no more than this share of the time. */
const STORAGE_SHARE = 0.05;
/** Ticks of many nodes do not meet. */
const JITTER = 0.1;
const DEADLINE_MS = 30_000;
const STORAGE_DEADLINE_MS = 300_000;
/** Older numbers are no numbers: a scrape then fails instead of showing a node that stands still. */
const STALE_MS = 60_000;
const STORAGE_STALE_MS = 30 * 60_000;

interface Sampled<T> {
  readonly atMs: number;
  readonly value: T;
}

/** What was measured last. */
export interface Latest {
  readonly usage: readonly PodUsage[];
  readonly host?: HostUsage;
  readonly storage?: StorageUsage;
  readonly self?: SelfUsage & { readonly timeMs: number };
  readonly rate: (key: string) => number | undefined;
}

/**
 * Asks the backend in the background, all the time: rates need two samples.
 * Whoever reads gets what was measured last, and never waits for the backend.
 */
export class Sampler {
  readonly #options: SamplerOptions;
  readonly #rates = new Rates();
  #usage: Sampled<readonly PodUsage[]> | undefined;
  #host: Sampled<HostUsage> | undefined;
  #storage: Sampled<StorageUsage> | undefined;
  #self: (SelfUsage & { readonly timeMs: number }) | undefined;
  #running: Promise<void> | undefined;
  /** The containers that ran when the disks were walked. */
  #walked: ReadonlySet<string> = new Set();
  /** The walk after the next one is not due: it may begin if there is a reason. */
  #resting: ChildAbort | undefined;
  readonly #failing = new Set<string>();
  #failure: unknown;

  constructor(options: SamplerOptions) {
    this.#options = options;
  }

  /** Until the signal aborts. */
  async run({ signal }: CallOptions): Promise<void> {
    await Promise.all([this.#follow(signal), this.#followStorage(signal)]);
  }

  /** Measures now, or joins a measurement under way. A failure is told by what `latest` gives. */
  async refresh({ signal }: CallOptions): Promise<void> {
    this.#running ??= this.#sample(signal).finally(() => {
      this.#running = undefined;
    });
    await this.#running;
  }

  /** undefined while the backend has not been measured, or not for a while. */
  latest(): Latest | undefined {
    const now = this.#options.clock.now();
    const usage = fresh(this.#usage, now, STALE_MS);
    if (usage === undefined) return undefined;
    const host = fresh(this.#host, now, STALE_MS);
    const storage = fresh(this.#storage, now, STORAGE_STALE_MS);
    return {
      usage,
      ...(host === undefined ? {} : { host }),
      ...(storage === undefined ? {} : { storage }),
      ...(this.#self === undefined ? {} : { self: this.#self }),
      rate: (key) => this.#rates.get(key),
    };
  }

  /** Why `latest` has nothing, in words. */
  get failure(): unknown {
    return this.#failure;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.refresh({ signal });
      await this.#pause(INTERVAL_MS, signal);
    }
  }

  async #followStorage(signal: AbortSignal): Promise<void> {
    const { clock, facet } = this.#options;
    await this.refresh({ signal });
    while (!signal.aborted) {
      const began = clock.now();
      this.#walked = new Set(containerKeys(this.#usage?.value));
      const storage = await this.#ask('storage', STORAGE_DEADLINE_MS, signal, (call) => facet.storage(call));
      if (storage !== undefined) this.#storage = { atMs: clock.now(), value: storage };
      const took = clock.now() - began;
      const spacing = Math.max(STORAGE_SPACING_MS, took / STORAGE_SHARE);
      await this.#pause(spacing, signal);
      if (spacing < STORAGE_INTERVAL_MS) await this.#rest(STORAGE_INTERVAL_MS - spacing, signal);
    }
  }

  /** Ends when a container runs that the last walk did not see. */
  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#someUnwalked()) return;
    using resting = new ChildAbort(signal);
    this.#resting = resting;
    await this.#pause(ms, resting.signal);
    this.#resting = undefined;
  }

  #someUnwalked(): boolean {
    return containerKeys(this.#usage?.value).some((key) => !this.#walked.has(key));
  }

  async #sample(signal: AbortSignal): Promise<void> {
    const { facet, clock, self } = this.#options;
    const [usage, host] = await Promise.all([
      this.#ask('usage', DEADLINE_MS, signal, (call) => facet.usage(call)),
      this.#ask('host usage', DEADLINE_MS, signal, (call) => facet.host(call)),
    ]);
    const atMs = clock.now();
    if (usage !== undefined) this.#usage = { atMs, value: usage };
    if (this.#someUnwalked()) this.#resting?.abort();
    if (host !== undefined) this.#host = { atMs, value: host };
    if (self !== undefined) this.#self = { ...self(), timeMs: atMs };
    // What could not be measured this time keeps its last reading, so that its rate goes on afterwards.
    this.#rates.update(readings(this.#usage?.value ?? [], this.#host?.value, this.#self));
  }

  /** One log line when it begins to fail and one when it is over, however often it is tried in between. */
  async #ask<T>(
    what: string,
    deadlineMs: number,
    signal: AbortSignal,
    ask: (options: CallOptions) => Promise<T>,
  ): Promise<T | undefined> {
    const { clock, log } = this.#options;
    using child = new ChildAbort(signal);
    const stop = clock.timer(deadlineMs, () => child.abort(new Error(`no answer within ${deadlineMs / 1000} s`)));
    try {
      const answer = await untilAborted(ask({ signal: child.signal }), child.signal);
      if (this.#failing.delete(what)) log.info({ what }, 'backend is measured again');
      return answer;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (what === 'usage') this.#failure = error;
      if (!this.#failing.has(what)) log.warn({ err: error, what }, 'backend cannot be measured');
      this.#failing.add(what);
      return undefined;
    } finally {
      stop();
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    // Only the signal makes it reject, and the loops look at the signal.
    await clock.sleep(ms * (1 - JITTER + 2 * JITTER * random()), { signal }).catch(() => undefined);
  }
}

/** What is from the future was measured before the clock was set back. */
function fresh<T>(sampled: Sampled<T> | undefined, now: number, staleMs: number): T | undefined {
  return sampled !== undefined && Math.abs(now - sampled.atMs) <= staleMs ? sampled.value : undefined;
}

function containerKeys(usage: readonly PodUsage[] = []): readonly string[] {
  return usage.flatMap(({ pod, containers }) => containers.map(({ name, attempt }) => rateKey(pod.uid, name, attempt)));
}

function readings(usage: readonly PodUsage[], host: HostUsage | undefined, self: Latest['self']): readonly Reading[] {
  const found: Reading[] = [];
  const add = (key: string, task: PodUsage['total']): void => {
    if (task?.cpu !== undefined) found.push({ key, timeMs: task.timeMs, nanos: task.cpu.usageNanos });
  };
  for (const { pod, containers, sandbox, total } of usage) {
    for (const container of containers) add(rateKey(pod.uid, container.name, container.attempt), container);
    if (sandbox !== undefined) add(rateKey(pod.uid, SANDBOX_PART, sandbox.id), sandbox);
    add(rateKey(pod.uid, TOTAL_PART, ''), total);
  }
  add(HOST_KEY, host);
  if (self !== undefined) found.push({ key: SELF_KEY, timeMs: self.timeMs, nanos: self.cpuNanos });
  return found;
}
