import { type PodUid, type ProviderContext, ProviderError } from '../contract/index.ts';

/** For which a helper (a process of some 12 MB, or a container) waits for the next connection. */
const IDLE_MS = 30_000;

/** Of which pod's sandbox. A pod whose sandbox was replaced has another one, and what was made for the first is of no use. */
export interface SandboxKey {
  readonly uid: PodUid;
  readonly sandboxId: string;
}

interface Options<T> {
  readonly clock: ProviderContext['clock'];
  readonly make: (key: SandboxKey) => Promise<T>;
  /** Never rejects. */
  readonly end: (thing: T) => Promise<void>;
}

interface Entry<T> {
  readonly key: SandboxKey;
  readonly made: Promise<T>;
  users: number;
  idle: AbortController | undefined;
}

export interface Borrowed<T> {
  readonly thing: T;
  /** May be called more than once. */
  release(): void;
  /** It does not work (any more): whoever comes next gets a new one. */
  discard(): void;
}

/** Helpers of pods, one per sandbox: made when first needed, ended when nobody has used them for a while, and with the pod. */
export class OnDemand<T> {
  readonly #clock: ProviderContext['clock'];
  readonly #make: (key: SandboxKey) => Promise<T>;
  readonly #end: (thing: T) => Promise<void>;
  readonly #entries = new Map<PodUid, Entry<T>>();
  #closed = false;

  constructor({ clock, make, end }: Options<T>) {
    this.#clock = clock;
    this.#make = make;
    this.#end = end;
  }

  /** A making that fails is told to all who wait for it, and forgotten. */
  async borrow(key: SandboxKey): Promise<Borrowed<T>> {
    const entry = this.#entry(key);
    entry.users++;
    entry.idle?.abort();
    let thing: T;
    try {
      thing = await entry.made;
    } catch (error) {
      this.#drop(entry);
      throw error;
    }
    let released = false;
    const release = (): void => {
      if (released) return;
      released = true;
      entry.users--;
      if (entry.users === 0) this.#arm(entry);
    };
    return { thing, release, discard: () => this.#remove(entry) };
  }

  /** Resolves when what there was for this pod has ended. */
  async forget(uid: PodUid): Promise<void> {
    const entry = this.#entries.get(uid);
    if (entry !== undefined) await this.#remove(entry);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#entries.values()].map((entry) => this.#remove(entry)));
  }

  #entry(key: SandboxKey): Entry<T> {
    if (this.#closed) throw new ProviderError('Unavailable', 'the provider is closed');
    const known = this.#entries.get(key.uid);
    if (known?.key.sandboxId === key.sandboxId) return known;
    if (known !== undefined) void this.#remove(known); // never rejects
    const entry: Entry<T> = { key, made: this.#make(key), users: 0, idle: undefined };
    this.#entries.set(key.uid, entry);
    return entry;
  }

  #arm(entry: Entry<T>): void {
    if (this.#entries.get(entry.key.uid) !== entry) return;
    const idle = new AbortController();
    entry.idle = idle;
    void this.#clock.sleep(IDLE_MS, { signal: idle.signal }).then(
      () => this.#remove(entry),
      () => {}, // used again, or gone
    );
  }

  async #remove(entry: Entry<T>): Promise<void> {
    this.#drop(entry);
    entry.idle?.abort();
    try {
      await this.#end(await entry.made);
    } catch {
      // It was never made: told to those who asked for it.
    }
  }

  #drop(entry: Entry<T>): void {
    if (this.#entries.get(entry.key.uid) === entry) this.#entries.delete(entry.key.uid);
  }
}
