import type { Logger } from '../telemetry/logger.ts';
import { backoffDelayMs, withJitter } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { ApiClient, Query } from './client.ts';
import { ApiUnreachable, isExpired, KubeError, type StatusBody } from './errors.ts';
import { type Delta, Known, type Reflected } from './known.ts';

export interface ReflectorOptions<T extends Reflected> {
  /** In logs. */
  readonly name: string;
  readonly client: Pick<ApiClient, 'request' | 'stream'>;
  readonly path: string;
  readonly fieldSelector?: string;
  /** Called in order, one delta at a time. An exception here is a bug of ours: it ends `run` with that error. */
  readonly handler: (delta: Delta<T>) => void;
  /** Told of every failed list or watch, for those who wait for the first answer. */
  readonly onFailure?: (error: Error) => void;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** In [0, 1). */
  readonly random?: () => number;
  readonly pageSize?: number;
}

/** Longer than the interval of bookmarks, which come about once a minute even when nothing changes. */
const SILENCE_MS = 90_000;
/** The server ends a watch after a random time in this range, so that many watches do not come back at once. */
const WATCH_SECONDS = { min: 300, max: 600 };
const RETRY = { baseMs: 250, maxMs: 10_000 };
/** A watch that lived this long, or that told something, was a good one: the next failure starts the backoff anew. */
const HEALTHY_MS = 5_000;
/** The server refuses to resume, for a reason that is not "expired" (a version from before an etcd restore, say). */
const REFUSALS_BEFORE_RELIST = 3;

/** List and watch of one collection, told as deltas keyed by UID (tooling.md: what client-node's informer does not do). */
export class Reflector<T extends Reflected> {
  readonly #options: ReflectorOptions<T>;
  readonly #random: () => number;
  readonly #known: Known<T>;
  readonly #synced = Promise.withResolvers<void>();
  #version: string | undefined;
  #lists = 0;
  #watches = 0;
  #lastByteAt: number | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#random = options.random ?? Math.random;
    this.#known = new Known((delta) => {
      try {
        options.handler(delta);
      } catch (error) {
        throw new HandlerFailure(errorMessage(error), { cause: error });
      }
    });
  }

  /** Resolves when the first list was handed over completely. Never rejects. */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** How often a watch was opened again after the first one. */
  get restarts(): number {
    return Math.max(0, this.#watches - 1);
  }

  /** How often the collection was listed again after the first time. */
  get relists(): number {
    return Math.max(0, this.#lists - 1);
  }

  /** Milliseconds since the server last sent anything; undefined before the first byte. */
  get lastByteAgeMs(): number | undefined {
    return this.#lastByteAt === undefined ? undefined : this.#options.clock.now() - this.#lastByteAt;
  }

  /** Resolves when the signal aborts; rejects only with what the handler threw. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clock, log, name, onFailure } = this.#options;
    let failures = 0;
    let refusals = 0;
    while (!signal.aborted) {
      const startedAt = clock.now();
      let versionBefore = this.#version;
      let failure: unknown;
      try {
        if (this.#version === undefined) await this.#list(signal);
        // A list alone is no progress: one that is followed by a refused watch each time must not be repeated at full speed.
        versionBefore = this.#version;
        await this.#watch(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof HandlerFailure) throw error.cause;
        failure = error;
      }
      const healthy = this.#version !== versionBefore || clock.now() - startedAt >= HEALTHY_MS;
      if (healthy) failures = refusals = 0;
      if (failure !== undefined || !healthy) failures++;
      refusals = failure instanceof KubeError ? refusals + 1 : 0;
      if (isExpired(failure) || refusals >= REFUSALS_BEFORE_RELIST) {
        this.#version = undefined;
        refusals = 0;
      }
      if (failure !== undefined) {
        // One line per streak: an API server that is away for an hour is one fact, not a thousand.
        const level = failures === 1 && !isExpired(failure) ? 'warn' : 'debug';
        log[level]({ err: failure, reflector: name, failures }, 'watch interrupted');
        if (failure instanceof Error) onFailure?.(failure);
      }
      // Also after an orderly end: many watches must not come back in the same millisecond.
      const backoffMs = failures === 0 ? this.#random() * 100 : backoffDelayMs(RETRY, failures);
      const askedMs = failure instanceof KubeError ? (failure.retryAfterMs ?? 0) : 0;
      const delayMs = Math.max(askedMs, withJitter(backoffMs, 0.5, this.#random));
      await clock.sleep(delayMs, { signal }).catch(() => {});
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, path, clock, pageSize = 500 } = this.#options;
    const items: T[] = [];
    let version: string | undefined;
    let next: string | undefined;
    do {
      // No resourceVersion: the answer must not be older than what we already acted upon.
      const page: ListPage<T> = await client.request<ListPage<T>>({
        method: 'GET',
        path,
        query: { ...this.#selector(), limit: pageSize, continue: next },
        signal,
      });
      this.#lastByteAt = clock.now();
      version ??= page.metadata.resourceVersion;
      for (const item of page.items ?? []) items.push(slim(item));
      next = page.metadata.continue === '' ? undefined : page.metadata.continue;
    } while (next !== undefined);
    this.#lists++;
    this.#known.replace(items);
    this.#version = version;
    this.#synced.resolve();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { client, path, clock } = this.#options;
    this.#watches++;
    const seconds = WATCH_SECONDS.min + this.#random() * (WATCH_SECONDS.max - WATCH_SECONDS.min);
    const lines = client.stream({
      path,
      query: {
        ...this.#selector(),
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: this.#version,
        timeoutSeconds: Math.floor(seconds),
      },
      idleTimeoutMs: SILENCE_MS,
      onBytes: () => {
        this.#lastByteAt = clock.now();
      },
      signal,
    });
    for await (const line of lines) this.#take(parseEvent<T>(line));
  }

  #take(event: WatchEvent<T>): void {
    switch (event.type) {
      case 'ADDED':
      case 'MODIFIED':
        this.#known.put(slim(event.object));
        break;
      case 'DELETED':
        this.#known.remove(slim(event.object));
        break;
      case 'BOOKMARK':
        break;
      case 'ERROR':
        throw new KubeError(event.object.code ?? 500, event.object, 'the watch reported an error');
    }
    // Only now: an event whose handler threw was not taken.
    this.#version = event.object.metadata.resourceVersion;
  }

  #selector(): Query {
    return { fieldSelector: this.#options.fieldSelector };
  }
}

class HandlerFailure extends Error {}

interface ListPage<T> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: { readonly metadata: { readonly resourceVersion: string } } }
  | { readonly type: 'ERROR'; readonly object: StatusBody };

function parseEvent<T>(line: string): WatchEvent<T> {
  try {
    // The edge: an event of the API server has one of these shapes.
    return JSON.parse(line) as WatchEvent<T>;
  } catch (error) {
    throw new ApiUnreachable('a line of the watch is not JSON', { cause: error });
  }
}

/** Managed fields are half of many objects, and nobody here reads them. */
function slim<T extends Reflected>(object: T): T {
  delete object.metadata.managedFields;
  return object;
}
