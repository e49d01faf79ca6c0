import { randomUUID } from 'node:crypto';
import { type Pod, toTime } from '../model/pod.ts';
import type { EventSink, PodEvent } from '../pod/ports.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { TokenBucket } from '../util/token-bucket.ts';
import type { Requester } from './client.ts';
import { STRATEGIC_MERGE_PATCH } from './client.ts';
import { isConflict, isNotFound, KubeError } from './errors.ts';
import { type Correlated, EventCorrelator, type KubeEvent } from './event-correlator.ts';
import { namespaced } from './paths.ts';

export interface EventRecorderOptions {
  readonly client: Requester;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn'>;
  readonly nodeName: string;
  /** `eventRecordQPS`, `eventBurst` of the KubeletConfiguration. */
  readonly qps?: number;
  readonly burst?: number;
  readonly random?: () => number;
}

export type NodeEvent = Omit<PodEvent, 'fieldPath'>;

const QUEUE_LIMIT = 1000;
const TRIES = 12;
const RETRY_MS = 10_000;
const MAX_NAME_LENGTH = 253;

/** Best effort (reference 3.2): one write at a time, a bounded queue, never in anybody's way. */
export class EventRecorder implements EventSink {
  readonly #options: EventRecorderOptions;
  readonly #random: () => number;
  readonly #correlator = new EventCorrelator();
  readonly #rate: TokenBucket;
  readonly #queue: KubeEvent[] = [];
  readonly #stop = new AbortController();
  #sending: Promise<void> | undefined;
  #closed = false;
  #lastNanos = 0n;
  #dropped = 0;
  /** Events are being lost, and that was said. */
  #losing = false;

  constructor(options: EventRecorderOptions) {
    const { qps = 50, burst = 100, clock } = options;
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#rate = new TokenBucket(clock.now(), qps, burst);
  }

  /** Events that were lost: queue full, refused, or the server away for too long. */
  get dropped(): number {
    return this.#dropped;
  }

  pod(pod: Pod, event: PodEvent): void {
    const { namespace, name, uid, resourceVersion } = pod.metadata;
    this.#record(namespace, event, {
      apiVersion: 'v1',
      kind: 'Pod',
      namespace,
      name,
      uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(event.fieldPath === undefined ? {} : { fieldPath: event.fieldPath }),
    });
  }

  /** `nodeUid` is the real UID of the Node object: `kubectl describe node` finds events by it (reference 3.1). */
  node(nodeName: string, nodeUid: string, event: NodeEvent): void {
    this.#record('default', event, { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid });
  }

  /** Sends what is queued until the signal aborts; afterwards nothing is sent any more. */
  async close({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.#closed = true;
    const onAbort = (): void => this.#stop.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
    await this.#sending;
    signal.removeEventListener('abort', onAbort);
    this.#stop.abort();
  }

  #record(namespace: string, event: PodEvent, involvedObject: KubeEvent['involvedObject']): void {
    if (this.#closed) return;
    if (this.#queue.length >= QUEUE_LIMIT) {
      this.#drop('queue is full', event);
      return;
    }
    const { clock, nodeName } = this.#options;
    const now = toTime(clock.now());
    this.#queue.push({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: this.#name(involvedObject.name), namespace },
      involvedObject,
      type: event.type,
      reason: event.reason,
      message: event.message,
      source: { component: 'kubelet', host: nodeName },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
      reportingComponent: 'kubelet',
      reportingInstance: nodeName,
      eventTime: null,
    });
    // Does not reject: every failure of a write ends in #drop.
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    // The caller goes on first: recording an event costs it no more than the push.
    await Promise.resolve();
    using stop = new ChildAbort(this.#stop.signal);
    for (let event = this.#queue.shift(); event !== undefined; event = this.#queue.shift()) {
      if (stop.signal.aborted) {
        this.#drop('recorder is closed', event);
        continue;
      }
      const correlated = this.#correlator.correlate(event, this.#options.clock.now());
      if (correlated !== undefined) await this.#deliver(correlated, stop.signal);
    }
    // In the same breath as the last look into the queue: an event that comes now starts the next run.
    this.#sending = undefined;
  }

  async #deliver(correlated: Correlated, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const waitMs = this.#rate.waitMs(clock.now());
        if (waitMs > 0) await clock.sleep(waitMs, { signal });
        this.#rate.tryTake(clock.now());
        await this.#write(correlated, signal);
        if (this.#losing) this.#options.log.info({ dropped: this.#dropped }, 'events are sent again');
        this.#losing = false;
        return;
      } catch (error) {
        // A rejection is final; only a server that is not there (or asks for patience) is asked again.
        const final = error instanceof KubeError && error.status !== 429;
        if (signal.aborted || final || attempt >= TRIES) {
          this.#drop(error, correlated.event);
          return;
        }
        // The first wait is random, so that many nodes do not come back in step.
        const delayMs = attempt === 1 ? RETRY_MS * this.#random() : RETRY_MS;
        await clock.sleep(delayMs, { signal }).catch(() => {});
      }
    }
  }

  async #write({ event, patch }: Correlated, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { namespace, name } = event.metadata;
    if (patch !== undefined) {
      try {
        const path = namespaced(namespace, 'events', name);
        await client.request({ method: 'PATCH', path, contentType: STRATEGIC_MERGE_PATCH, body: patch, signal });
        return;
      } catch (error) {
        // Events live for an hour; a count that outlives its event begins a new object of the same name.
        if (!isNotFound(error)) throw error;
      }
    }
    try {
      await client.request({ method: 'POST', path: namespaced(namespace, 'events'), body: event, signal });
    } catch (error) {
      // An earlier try whose answer was lost.
      if (!isConflict(error)) throw error;
    }
  }

  #name(object: string): string {
    // Two events of one millisecond must not share a name.
    const clockNanos = BigInt(Math.floor(this.#options.clock.now())) * 1_000_000n;
    this.#lastNanos = clockNanos > this.#lastNanos ? clockNanos : this.#lastNanos + 1n;
    const name = `${object}.${this.#lastNanos.toString(16)}`;
    return name.length <= MAX_NAME_LENGTH ? name : randomUUID();
  }

  #drop(cause: unknown, { reason, message }: Pick<KubeEvent, 'reason' | 'message'>): void {
    this.#dropped++;
    // One line per outage. At the end of the process and in a namespace that is being deleted nothing is amiss.
    const expected = this.#stop.signal.aborted || isNamespaceTerminating(cause);
    const level = expected || this.#losing ? 'debug' : 'warn';
    if (!expected) this.#losing = true;
    this.#options.log[level]({ err: cause, reason, text: message }, 'event dropped');
  }
}

/** The API server says so by a cause in the details of its 403. */
function isNamespaceTerminating(error: unknown): boolean {
  const causes = error instanceof KubeError ? (error.details?.causes ?? []) : [];
  return causes.some(({ reason }) => reason === 'NamespaceTerminating');
}
