import { isDeepStrictEqual } from 'node:util';
import {
  type CallOptions,
  isProviderError,
  type ObservedPod,
  type PodUid,
  type Provider,
  ProviderError,
} from '../../providers/contract/index.ts';
import type { ObservedEntry, ObservedStore } from '../model/stores.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort, isAbortError } from '../util/abort.ts';
import { backoffDelayMs, withJitter } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { Mailbox } from '../util/mailbox.ts';

/** The node is not healthy when the backend could not be listed for this long (reference 16.1). */
const HEALTH_THRESHOLD_MS = 180_000;
/** One answer of the backend (reference 12.1: runtimeRequestTimeout). */
const CALL_TIMEOUT_MS = 120_000;
const RETRY = { baseMs: 1_000, maxMs: 10_000 };

export interface PlegOptions {
  readonly provider: Pick<Provider, 'list' | 'inspect' | 'watch' | 'traits'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Something about this pod changed on the backend. */
  readonly notify: (uid: PodUid) => void;
  readonly metrics?: {
    relisted(startedMs: number, endedMs: number, ok: boolean): void;
    podAsked(seconds: number): void;
  };
  /** The backend answers again after it could not be asked for a while. */
  readonly onRecovered?: () => void;
}

/**
 * Pod lifecycle event generator: keeps the latest observation of every pod. Hints of the backend only say where to look;
 * a relist finds what hints missed. Silence is never evidence: when the backend cannot be asked, nothing changes here.
 */
export class Pleg implements ObservedStore {
  readonly #options: PlegOptions;
  readonly #entries = new Map<PodUid, ObservedEntry>();
  readonly #synced = Promise.withResolvers<void>();
  #lastSeenMs: number;
  /** When the loop of lists last came round, whether the backend answered or not. */
  #enteredMs: number;
  #failures = 0;
  /** Orders the questions to the backend; a clock would not do, it can be set back. */
  #questions = 0;

  constructor(options: PlegOptions) {
    this.#options = options;
    this.#lastSeenMs = options.clock.now();
    this.#enteredMs = this.#lastSeenMs;
  }

  /** Resolves after the first complete list. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  get(uid: PodUid): ObservedEntry | undefined {
    return this.#entries.get(uid);
  }

  *all(): Iterable<ObservedPod> {
    for (const { pod } of this.#entries.values()) if (pod !== undefined) yield pod;
  }

  health(): { readonly healthy: boolean; readonly lastSeenMs: number } {
    return {
      healthy: this.#options.clock.now() - this.#lastSeenMs < HEALTH_THRESHOLD_MS,
      lastSeenMs: this.#lastSeenMs,
    };
  }

  /** A loop that does not come round is stuck, which a supervisor can only mend by a restart. */
  get enteredMs(): number {
    return this.#enteredMs;
  }

  /** The pod's worker is done with it. */
  forget(uid: PodUid): void {
    this.#entries.delete(uid);
  }

  /** Asks the backend about one pod now. Throws what the provider throws. */
  async refresh(uid: PodUid, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const at = ++this.#questions;
    const { clock, provider, metrics } = this.#options;
    const startedMs = clock.now();
    this.#put(uid, await this.#ask((options) => provider.inspect(uid, options), signal), at);
    metrics?.podAsked((clock.now() - startedMs) / 1000);
  }

  /** Lists and follows hints until the signal aborts. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await Promise.all([this.#relistLoop(signal), this.#watchLoop(signal)]);
  }

  async #relistLoop(signal: AbortSignal): Promise<void> {
    const { clock, provider } = this.#options;
    while (!signal.aborted) {
      this.#enteredMs = clock.now();
      const listed = await this.#relist(signal);
      const delayMs = listed ? provider.traits.relistIntervalMs : this.#retryDelayMs(this.#failures);
      await clock.sleep(delayMs, { signal }).catch(() => undefined); // only an abort rejects; the loop's condition sees it
    }
  }

  async #relist(signal: AbortSignal): Promise<boolean> {
    const { clock, provider, log, metrics, onRecovered } = this.#options;
    const at = ++this.#questions;
    const startedMs = clock.now();
    try {
      const pods = await this.#ask((options) => provider.list(options), signal);
      const seen = new Set<PodUid>();
      for (const pod of pods) {
        seen.add(pod.pod.uid);
        this.#put(pod.pod.uid, pod, at);
      }
      for (const uid of this.#entries.keys()) if (!seen.has(uid)) this.#put(uid, undefined, at);
      this.#lastSeenMs = clock.now();
      metrics?.relisted(startedMs, this.#lastSeenMs, true);
      this.#synced.resolve();
      if (this.#failures > 0) {
        log.info({ failures: this.#failures }, 'backend can be listed again');
        this.#failures = 0;
        onRecovered?.();
      }
      return true;
    } catch (error: unknown) {
      if (signal.aborted) return false;
      metrics?.relisted(startedMs, clock.now(), false);
      // One line per outage, not per try: the node's Ready condition carries the reason meanwhile.
      if (this.#failures === 0) log.warn({ err: error }, 'backend cannot be listed');
      this.#failures += 1;
      return false;
    }
  }

  /** One question to the backend, with a deadline of ours: one that hangs must park neither the loop nor a pod. */
  async #ask<T>(question: (options: CallOptions) => Promise<T>, signal: AbortSignal): Promise<T> {
    using call = new ChildAbort(signal);
    const late = Promise.withResolvers<never>();
    const cancel = this.#options.clock.timer(CALL_TIMEOUT_MS, () => {
      const error = new ProviderError('Unavailable', `the backend did not answer within ${CALL_TIMEOUT_MS / 1000} s`);
      call.abort(error);
      late.reject(error);
    });
    try {
      return await Promise.race([question({ signal: call.signal }), late.promise]);
    } finally {
      cancel();
    }
  }

  async #watchLoop(signal: AbortSignal): Promise<void> {
    const { provider, clock, log } = this.#options;
    if (provider.watch === undefined) return;
    const inspections = new Mailbox<PodUid>(clock, (uid) => this.#inspectHinted(uid, signal));
    let failures = 0;
    let warned = false;
    for (let opened = 0; !signal.aborted; opened++) {
      const openedAtMs = clock.now();
      let failure: unknown;
      try {
        const hints = provider.watch({ signal });
        // What happened while nobody listened is found by a list only (contract: Provider.watch). It tells its failures itself.
        if (opened > 0) void this.#relist(signal);
        for await (const hint of hints) {
          if (hint.type === 'pod') inspections.post(hint.uid);
          else await this.#relist(signal);
        }
      } catch (error: unknown) {
        if (isAbortError(error, signal)) break;
        failure = error;
      }
      // A stream that lived for a while was a good one: what ended it is told, and the next one is opened soon.
      const lived = clock.now() - openedAtMs >= RETRY.maxMs;
      failures = lived ? 1 : failures + 1;
      warned &&= !lived;
      // The list tells of an outage; one that works beside hints that never come would hide it.
      const news: boolean = failure !== undefined && !warned && !isProviderError(failure, 'Unavailable');
      warned ||= news;
      log[news ? 'warn' : 'debug']({ err: failure, failures }, 'hints ended');
      await clock.sleep(this.#retryDelayMs(failures), { signal }).catch(() => undefined); // as in the relist loop
    }
    inspections.close();
  }

  async #inspectHinted(uid: PodUid, signal: AbortSignal): Promise<void> {
    const at = ++this.#questions;
    try {
      const pod = await this.#ask((options) => this.#options.provider.inspect(uid, options), signal);
      // The last hint of a pod often comes after its worker has forgotten it: that must not leave an entry behind.
      if (pod !== undefined || this.#entries.has(uid)) this.#put(uid, pod, at);
    } catch (error: unknown) {
      // The next relist finds what this inspection missed.
      if (!isAbortError(error, signal) && !isProviderError(error, 'Unavailable'))
        this.#options.log.warn({ err: error, uid }, 'pod cannot be inspected');
    }
  }

  #retryDelayMs(failures: number): number {
    return withJitter(backoffDelayMs(RETRY, Math.max(1, failures)), 0.5, this.#options.random);
  }

  /** An answer asked for earlier than the one we hold is older news: a slow list must not undo a fresh inspection. */
  #put(uid: PodUid, pod: ObservedPod | undefined, at: number): void {
    const old = this.#entries.get(uid);
    if (old !== undefined && old.at > at) return;
    this.#entries.set(uid, { pod, at });
    if (old === undefined ? pod !== undefined : !isDeepStrictEqual(old.pod, pod)) this.#options.notify(uid);
  }
}
