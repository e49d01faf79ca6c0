import PQueue from 'p-queue';
import type { PodUid } from '../../providers/contract/index.ts';
import { ApiUnreachable, KubeError } from '../kube/errors.ts';
import type { PodApi } from '../kube/pods.ts';
import { formatPod, type Pod, type PodStatus, podUid } from '../model/pod.ts';
import type { StatusSink } from '../pod/ports.ts';
import type { Logger } from '../telemetry/logger.ts';
import { backoffDelayMs, withJitter } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { StatusEntry } from './entry.ts';

export interface StatusWriterOptions {
  readonly pods: Pick<PodApi, 'get' | 'patchStatus' | 'remove'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** Life of the writer: afterwards nothing is sent any more. */
  readonly signal: AbortSignal;
  /** Writes at a time, over all pods. */
  readonly concurrency?: number;
  readonly random?: () => number;
  /** Told in seconds: since the status was known, and of the request alone. */
  readonly metrics?: { statusWritten(sinceKnown: number, patch: number): void };
}

const RETRY = { baseMs: 300, maxMs: 8_000 };
/** As often as the kubelet's status manager looks for foreign edits (reference 1.8). */
const RECONCILE_MS = 10_000;

/**
 * Sends the newest status of each pod. Invariants: at most one write per pod in flight; what is sent is the difference
 * between the newest API object that we know and the newest status that we want; a status that was replaced before it was
 * sent is never sent.
 */
export class StatusWriter implements StatusSink {
  readonly #options: StatusWriterOptions;
  readonly #random: () => number;
  readonly #queue: PQueue;
  readonly #entries = new Map<PodUid, StatusEntry>();
  #failing = false;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#queue = new PQueue({ concurrency: options.concurrency ?? 16 });
  }

  /** Pods whose newest status the API server has not acknowledged yet. */
  get pending(): number {
    let count = 0;
    for (const entry of this.#entries.values()) if (entry.needsWrite) count++;
    return count;
  }

  submit(pod: Pod, status: PodStatus): void {
    const entry = this.#entry(pod);
    entry.want(status, this.#options.clock.now());
    this.#advance(entry);
  }

  async flush(pod: Pod, status: PodStatus, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted();
    this.submit(pod, status);
    await this.#entry(pod).acknowledged(signal);
  }

  async remove(pod: Pod, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { pods, clock, log } = this.#options;
    const entry = this.#entry(pod);
    // From here on no status is worth sending; the write in flight ends first.
    entry.end();
    await entry.writing;
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted();
      try {
        await this.#queue.add(() => pods.remove(pod, { signal }));
        return;
      } catch (error) {
        signal.throwIfAborted();
        const level = failures === 1 ? 'warn' : 'debug';
        log[level]({ err: error, pod: formatPod(pod), failures }, 'cannot delete the pod object yet');
        await clock.sleep(this.#retryDelayMs(error, failures), { signal });
      }
    }
  }

  forget(uid: PodUid): void {
    this.#entries.get(uid)?.end();
    this.#entries.delete(uid);
  }

  /** For every update of the watch: notices when somebody else has changed our fields, and sends ours again. */
  observeApi(pod: Pod): void {
    const entry = this.#entries.get(podUid(pod));
    if (entry === undefined) return;
    entry.observe(pod);
    this.#advance(entry);
  }

  #entry(pod: Pod): StatusEntry {
    const uid = podUid(pod);
    let entry = this.#entries.get(uid);
    if (entry === undefined) {
      entry = new StatusEntry(pod);
      this.#entries.set(uid, entry);
    } else entry.observe(pod);
    return entry;
  }

  /** What this pod needs now: a write of its newest status, an answer to a foreign edit, or nothing. */
  #advance(entry: StatusEntry): void {
    if (entry.writing !== undefined || entry.isBackingOff || this.#options.signal.aborted) return;
    if (entry.needsWrite && !entry.settleUnchanged()) {
      // Does not reject: #write handles its failures.
      entry.writing = this.#queue
        .add(() => this.#write(entry))
        .then(() => {
          entry.writing = undefined;
          this.#advance(entry);
        });
    } else if (entry.isForeign) this.#reconcile(entry);
  }

  async #write(entry: StatusEntry): Promise<void> {
    const { signal, clock } = this.#options;
    try {
      await this.#send(entry, signal);
      this.#succeeded();
    } catch (error) {
      if (signal.aborted) return;
      entry.failures++;
      // Without an answer the write may have been applied: the next one starts from what the server really holds.
      if (!(error instanceof KubeError) || error.status >= 500) entry.uncertain = true;
      this.#failed(entry, error);
      entry.retryAfter(clock, this.#retryDelayMs(error, entry.failures), () => this.#advance(entry));
    }
  }

  async #send(entry: StatusEntry, signal: AbortSignal): Promise<void> {
    const { pods, clock, metrics } = this.#options;
    if (entry.uncertain) {
      const pod = await pods.get(entry.pod, { signal });
      if (pod === undefined) return entry.end();
      entry.know(pod);
    }
    const write = entry.nextWrite();
    if (write === undefined) return;
    const startMs = clock.now();
    const result = await pods.patchStatus(entry.pod, write.patch, { signal });
    if (result.type === 'gone') entry.end();
    else {
      entry.acknowledge(write, result.pod);
      metrics?.statusWritten((clock.now() - write.knownAtMs) / 1000, (clock.now() - startMs) / 1000);
    }
  }

  #reconcile(entry: StatusEntry): void {
    const { clock, log } = this.#options;
    const dueInMs = entry.reconciledAt === undefined ? 0 : entry.reconciledAt + RECONCILE_MS - clock.now();
    if (dueInMs > 0) {
      entry.reconcileAfter(clock, dueInMs, () => this.#advance(entry));
      return;
    }
    entry.reconciledAt = clock.now();
    log.info({ pod: formatPod(entry.pod) }, 'somebody else changed the status of the pod: sending ours again');
    entry.resend();
    this.#advance(entry);
  }

  #retryDelayMs(error: unknown, failures: number): number {
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(asked, withJitter(backoffDelayMs(RETRY, failures), 0.5, this.#random));
  }

  /** An API server that is away is one fact for all pods; a refusal belongs to its pod. */
  #failed(entry: StatusEntry, error: unknown): void {
    const { log } = this.#options;
    const away = error instanceof ApiUnreachable;
    const first = away ? !this.#failing : entry.failures === 1;
    if (away) this.#failing = true;
    const facts = { err: error, pod: formatPod(entry.pod), failures: entry.failures };
    log[first ? 'warn' : 'debug'](facts, 'cannot write the status of a pod yet');
  }

  #succeeded(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.log.info({ pending: this.pending }, 'pod statuses are written again');
  }
}
