import type { ConfigMap, Secret } from '../model/pod.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import type { ApiClient } from './client.ts';
import { KubeError } from './errors.ts';
import { namespaced } from './paths.ts';
import { Reflector } from './reflector.ts';

export type ObjectKind = 'ConfigMap' | 'Secret';
type Stored = ConfigMap | Secret;

export interface ObjectCacheOptions {
  readonly client: Pick<ApiClient, 'request' | 'stream'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** An object that these pods use has changed, appeared or disappeared. Must not throw. */
  readonly onChange: (podUids: readonly string[]) => void;
  /** Life of the cache: ends all watches. */
  readonly signal: AbortSignal;
  readonly random?: () => number;
}

/** A watch outlives its last pod a little: a pod that is replaced needs the same objects a second later. */
const LINGER_MS = 30_000;
/** The Node authorizer learns of a pod's references a moment after the pod is bound: the first refusals are no answer. */
const REFUSALS_BELIEVED = 4;
const FIRST_ANSWER_MS = 15_000;

/**
 * ConfigMaps and Secrets that pods of this node refer to: one watch per object, as the Node authorizer demands (reference 0.2),
 * shared by all pods that use it.
 */
export class ObjectCache {
  readonly #options: ObjectCacheOptions;
  readonly #entries = new Map<string, Entry>();

  constructor(options: ObjectCacheOptions) {
    this.#options = options;
  }

  /** How many objects are watched or kept. */
  get size(): number {
    return this.#entries.size;
  }

  /** Repeatable. The object stays cached until every pod that acquired it was released. */
  acquire(podUid: string, kind: ObjectKind, namespace: string, name: string): void {
    const key = keyOf(kind, namespace, name);
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = new Entry(this.#options, kind, namespace, name);
      this.#entries.set(key, entry);
    }
    entry.use(podUid);
  }

  releasePod(podUid: string): void {
    for (const [key, entry] of this.#entries) {
      entry.release(podUid, () => {
        entry.stop();
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
      });
    }
  }

  /**
   * The object, or undefined when it does not exist. Waits for the first answer of the server; rejects with its refusal, or
   * when it stays silent. Only for objects that were acquired.
   */
  async get(kind: 'ConfigMap', namespace: string, name: string, options: GetOptions): Promise<ConfigMap | undefined>;
  async get(kind: 'Secret', namespace: string, name: string, options: GetOptions): Promise<Secret | undefined>;
  async get(kind: ObjectKind, namespace: string, name: string, options: GetOptions): Promise<Stored | undefined> {
    const entry = this.#entries.get(keyOf(kind, namespace, name));
    if (entry === undefined) throw new Error(`${kind} ${namespace}/${name} was not acquired`);
    return entry.get(options);
  }
}

interface GetOptions {
  readonly signal: AbortSignal;
}

class Entry {
  readonly #options: ObjectCacheOptions;
  readonly #kind: ObjectKind;
  readonly #namespace: string;
  readonly #name: string;
  readonly #pods = new Set<string>();
  readonly #waiters = new Set<(failure?: Error) => void>();
  #watch: ChildAbort | undefined;
  #answered = false;
  #object: Stored | undefined;
  #refusals = 0;
  #lastFailure: Error | undefined;
  #cancelLinger: (() => void) | undefined;

  constructor(options: ObjectCacheOptions, kind: ObjectKind, namespace: string, name: string) {
    this.#options = options;
    this.#kind = kind;
    this.#namespace = namespace;
    this.#name = name;
  }

  use(podUid: string): void {
    this.#cancelLinger?.();
    this.#cancelLinger = undefined;
    const isNew = !this.#pods.has(podUid);
    this.#pods.add(podUid);
    // An immutable object is not watched, but a new pod may mean a new object under the old name: read it once more.
    if (this.#watch === undefined && isNew) this.#start();
  }

  release(podUid: string, onIdle: () => void): void {
    if (!this.#pods.delete(podUid) || this.#pods.size > 0) return;
    this.#cancelLinger = this.#options.clock.timer(LINGER_MS, onIdle);
  }

  stop(): void {
    this.#cancelLinger?.();
    this.#watch?.abort();
    this.#settle(new Error(`${this.#kind} ${this.#namespace}/${this.#name} is no longer watched`));
  }

  async get({ signal }: GetOptions): Promise<Stored | undefined> {
    signal.throwIfAborted();
    if (!this.#answered) await this.#answer(signal);
    return this.#object;
  }

  #answer(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (failure?: unknown): void => {
        this.#waiters.delete(finish);
        signal.removeEventListener('abort', onAbort);
        cancelTimer();
        if (failure === undefined) resolve();
        else reject(failure);
      };
      const onAbort = (): void => finish(signal.reason);
      const cancelTimer = this.#options.clock.timer(FIRST_ANSWER_MS, () => finish(this.#silence()));
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(finish);
    });
  }

  #silence(): Error {
    return (
      this.#lastFailure ?? new Error(`no answer of the API server for ${this.#kind} ${this.#namespace}/${this.#name}`)
    );
  }

  #start(): void {
    const { client, clock, log, random, signal } = this.#options;
    const watch = new ChildAbort(signal);
    this.#watch = watch;
    this.#answered = false;
    this.#refusals = 0;
    this.#lastFailure = undefined;
    let stillThere = false;
    const reflector = new Reflector<Stored>({
      name: `${this.#kind} ${this.#namespace}/${this.#name}`,
      client,
      path: namespaced(this.#namespace, this.#kind === 'ConfigMap' ? 'configmaps' : 'secrets'),
      fieldSelector: `metadata.name=${this.#name}`,
      clock,
      log,
      ...(random === undefined ? {} : { random }),
      handler: (delta) => {
        stillThere = delta.type !== 'deleted';
        this.#put(stillThere ? delta.object : undefined);
      },
      onFailure: (error) => this.#fail(error),
    });
    // Does not reject: the handler above does not throw (onChange promises not to).
    void reflector.run({ signal: watch.signal }).finally(() => watch[Symbol.dispose]());
    // `synced` never rejects.
    void reflector.synced.then(() => {
      if (this.#watch !== watch) return;
      if (!stillThere) this.#put(undefined);
      this.#answered = true;
      this.#settle();
      this.#unwatchImmutable();
    });
  }

  #put(object: Stored | undefined): void {
    const before = this.#object;
    this.#object = object;
    const changed = before?.metadata.resourceVersion !== object?.metadata.resourceVersion;
    if (changed && (this.#answered || before !== undefined)) this.#options.onChange([...this.#pods]);
    if (this.#answered) this.#unwatchImmutable();
  }

  #unwatchImmutable(): void {
    if (this.#object?.immutable !== true) return;
    this.#watch?.abort();
    this.#watch = undefined;
  }

  #fail(error: Error): void {
    this.#lastFailure = error;
    if (error instanceof KubeError && error.status !== 429) this.#refusals++;
    if (this.#refusals >= REFUSALS_BELIEVED) this.#settle(error);
  }

  #settle(failure?: Error): void {
    for (const finish of [...this.#waiters]) finish(failure);
  }
}

function keyOf(kind: ObjectKind, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}
