import { Lru } from '../util/lru.ts';
import { TokenBucket } from '../util/token-bucket.ts';

/** A core/v1 Event as it is sent. */
export interface KubeEvent {
  readonly apiVersion: 'v1';
  readonly kind: 'Event';
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly involvedObject: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion?: string;
    readonly fieldPath?: string;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly source: { readonly component: string; readonly host: string };
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly count: number;
  readonly reportingComponent: string;
  readonly reportingInstance: string;
  readonly eventTime: null;
}

/** `patch`: the same event was sent before; only these fields of it change. */
export interface Correlated {
  readonly event: KubeEvent;
  readonly patch?: { readonly count: number; readonly lastTimestamp: string; readonly message: string };
}

const LRU_ENTRIES = 4096;
const SPAM = { burst: 25, perSecond: 1 / 300 };
const AGGREGATE = { distinctMessages: 10, windowMs: 600_000 };

/** Reference 3.2, in the order of client-go's correlator: aggregation, then counting, then the spam filter. */
export class EventCorrelator {
  readonly #buckets = new Lru<string, TokenBucket>(LRU_ENTRIES);
  readonly #aggregates = new Lru<string, { messages: Set<string>; at: number }>(LRU_ENTRIES);
  readonly #seen = new Lru<string, { name: string; firstTimestamp: string; count: number }>(LRU_ENTRIES);

  /** undefined: too many events of this type about this object, this one is dropped. */
  correlate(event: KubeEvent, now: number): Correlated | undefined {
    const { event: aggregated, key } = this.#aggregate(event, now);
    const before = this.#seen.get(key);
    const counted: KubeEvent =
      before === undefined
        ? aggregated
        : {
            ...aggregated,
            metadata: { ...aggregated.metadata, name: before.name },
            firstTimestamp: before.firstTimestamp,
            count: before.count + 1,
          };
    const { firstTimestamp, count, lastTimestamp, message } = counted;
    this.#seen.set(key, { name: counted.metadata.name, firstTimestamp, count });
    if (!this.#bucket(counted, now).tryTake(now)) return undefined;
    return before === undefined ? { event: counted } : { event: counted, patch: { count, lastTimestamp, message } };
  }

  #aggregate(event: KubeEvent, now: number): { event: KubeEvent; key: string } {
    const object = objectKey(event);
    const { type, reason, message, reportingComponent, reportingInstance } = event;
    const aggregateKey = JSON.stringify([object, type, reason, reportingComponent, reportingInstance]);
    const found = this.#aggregates.get(aggregateKey);
    const record =
      found !== undefined && now - found.at <= AGGREGATE.windowMs ? found : { messages: new Set<string>(), at: now };
    record.messages.add(message);
    record.at = now;
    this.#aggregates.set(aggregateKey, record);
    if (record.messages.size < AGGREGATE.distinctMessages) {
      return { event, key: JSON.stringify([object, event.involvedObject.fieldPath, type, reason, message]) };
    }
    // The set stays one below the limit, so that a repeated message still aggregates and memory is bounded.
    for (const oldest of record.messages) {
      record.messages.delete(oldest);
      break;
    }
    return { event: { ...event, message: `(combined from similar events): ${message}` }, key: aggregateKey };
  }

  #bucket(event: KubeEvent, now: number): TokenBucket {
    const key = JSON.stringify([objectKey(event), event.type]);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket(now, SPAM.perSecond, SPAM.burst);
      this.#buckets.set(key, bucket);
    }
    return bucket;
  }
}

function objectKey({ source, involvedObject: object }: KubeEvent): string {
  const { kind, namespace, name, uid, apiVersion } = object;
  return JSON.stringify([source.component, source.host, kind, namespace, name, uid, apiVersion]);
}
