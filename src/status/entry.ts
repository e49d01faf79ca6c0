import { isNewer } from '../kube/resource-version.ts';
import type { Pod, PodStatus } from '../model/pod.ts';
import type { Clock } from '../util/clock.ts';
import { type StatusPatch, statusPatch } from './patch.ts';

export interface Write {
  readonly patch: StatusPatch;
  readonly wanted: PodStatus;
  readonly version: number;
  /** Clock milliseconds since which the newest status of the pod waits to be written. */
  readonly knownAtMs: number;
}

/** What the writer remembers of one pod. No I/O. */
export class StatusEntry {
  readonly pod: Pod;
  /** The write that is queued or in flight. */
  writing: Promise<void> | undefined;
  failures = 0;
  /** A write got no answer: `#api` may be out of date. */
  uncertain = false;
  /** Clock milliseconds at which a foreign edit was last answered. */
  reconciledAt: number | undefined;
  /** The newest status that the API server is known to hold, and the resource version of its pod. */
  #api: PodStatus;
  #apiVersion: string | undefined;
  #wanted: PodStatus | undefined;
  #wantedVersion = 0;
  #knownAtMs = 0;
  #acked: PodStatus | undefined;
  #ackedVersion = 0;
  /** Our fields as the server stored them when it acknowledged: what differs from this was done by somebody else. */
  #stored: PodStatus | undefined;
  #ended = false;
  #cancelRetry: (() => void) | undefined;
  #cancelReconcile: (() => void) | undefined;
  readonly #waiters = new Set<{ readonly version: number; readonly resolve: () => void }>();

  constructor(pod: Pod) {
    this.pod = pod;
    this.#api = pod.status ?? {};
    this.#apiVersion = pod.metadata.resourceVersion;
  }

  get needsWrite(): boolean {
    return !this.#ended && this.#wantedVersion > this.#ackedVersion;
  }

  /** The API server is away or asked for patience: what is newest then is sent when the time has come. */
  get isBackingOff(): boolean {
    return this.#cancelRetry !== undefined;
  }

  /** Our fields in the API are not what was acknowledged. */
  get isForeign(): boolean {
    if (this.#ended || this.#stored === undefined || this.#stored === this.#api) return false;
    return statusPatch(this.#api, this.#stored) !== undefined;
  }

  want(status: PodStatus, nowMs: number): void {
    if (!this.needsWrite) this.#knownAtMs = nowMs;
    this.#wanted = status;
    this.#wantedVersion++;
  }

  /** Makes the wanted status unsent again. */
  resend(): void {
    this.#acked = undefined;
    this.#wantedVersion++;
  }

  /** Settles without a write when the wanted status is the acknowledged one, or when the API object says the same already. */
  settleUnchanged(): boolean {
    if (this.#wanted === undefined || this.uncertain) return false;
    if (this.#acked !== undefined && statusPatch(this.#acked, this.#wanted) === undefined) {
      this.#ack(this.#wanted, this.#wantedVersion);
      return true;
    }
    return this.nextWrite() === undefined;
  }

  nextWrite(): Write | undefined {
    if (this.#ended || this.#wanted === undefined) return undefined;
    const write = { wanted: this.#wanted, version: this.#wantedVersion, knownAtMs: this.#knownAtMs };
    const patch = statusPatch(this.#api, write.wanted);
    if (patch !== undefined) return { ...write, patch };
    this.#stored = this.#api;
    this.#ack(write.wanted, write.version);
    return undefined;
  }

  acknowledge(write: Write, pod: Pod): void {
    this.#stored = pod.status ?? {};
    // The watch may have told a newer state while the answer was on its way.
    this.observe(pod);
    this.#ack(write.wanted, write.version);
  }

  /** Takes note of an API object, if it is newer than what is known. */
  observe(pod: Pod): void {
    if (!isNewer(pod.metadata.resourceVersion, this.#apiVersion)) return;
    this.#api = pod.status ?? {};
    this.#apiVersion = pod.metadata.resourceVersion;
  }

  /** After an uncertain write: what a GET has just answered. */
  know(pod: Pod): void {
    this.observe(pod);
    this.uncertain = false;
    this.#acked = undefined;
  }

  retryAfter(clock: Clock, ms: number, retry: () => void): void {
    if (this.#ended) return;
    this.#cancelRetry = clock.timer(ms, () => {
      this.#cancelRetry = undefined;
      retry();
    });
  }

  /** Does not hold up the writes of new statuses, other than a retry. */
  reconcileAfter(clock: Clock, ms: number, reconcile: () => void): void {
    if (this.#ended || this.#cancelReconcile !== undefined) return;
    this.#cancelReconcile = clock.timer(ms, () => {
      this.#cancelReconcile = undefined;
      reconcile();
    });
  }

  /** Resolves when what is wanted now is acknowledged, or when nothing will be sent any more. */
  acknowledged(signal: AbortSignal): Promise<void> {
    if (!this.needsWrite) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = (): void => {
      this.#waiters.delete(waiter);
      reject(signal.reason);
    };
    const waiter = {
      version: this.#wantedVersion,
      resolve: () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      },
    };
    this.#waiters.add(waiter);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    return promise;
  }

  /** The pod is gone, or about to be: nothing is sent any more, and nobody waits any longer. */
  end(): void {
    this.#ended = true;
    this.#cancelRetry?.();
    this.#cancelReconcile?.();
    this.#release();
  }

  #ack(wanted: PodStatus, version: number): void {
    this.failures = 0;
    this.#acked = wanted;
    this.#ackedVersion = Math.max(this.#ackedVersion, version);
    this.#release();
  }

  #release(): void {
    for (const waiter of [...this.#waiters]) {
      if (!this.#ended && waiter.version > this.#ackedVersion) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}
