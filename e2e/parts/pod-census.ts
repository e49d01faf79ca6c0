import { isTrue, type Kube } from './kube.ts';
import { waitFor } from './wait.ts';

/** Follows the pods of one namespace through one watch: who is Ready, who is gone, and when that was first true of everybody. */
export class PodCensus {
  readonly #kube: Kube;
  readonly #namespace: string;
  readonly #abort = new AbortController();
  readonly #ready = new Map<string, number>();
  readonly #gone = new Map<string, number>();
  #failure: unknown;

  constructor(kube: Kube, namespace: string) {
    this.#kube = kube;
    this.#namespace = namespace;
    void this.#follow().catch((error: unknown) => {
      if (!this.#abort.signal.aborted) this.#failure = error;
    });
  }

  /** Resolves with the moment (performance.now) at which the last of `count` pods was seen Ready. */
  allReady(count: number, timeoutMs: number): Promise<number> {
    return this.#all(this.#ready, count, `${count} pods to be Ready`, timeoutMs);
  }

  allGone(count: number, timeoutMs: number): Promise<number> {
    return this.#all(this.#gone, count, `${count} pods to be gone`, timeoutMs);
  }

  medianReady(): number {
    return median(this.#ready.values());
  }

  medianGone(): number {
    return median(this.#gone.values());
  }

  close(): void {
    this.#abort.abort();
  }

  async #all(seen: ReadonlyMap<string, number>, count: number, what: string, timeoutMs: number): Promise<number> {
    await waitFor(
      () => {
        if (this.#failure !== undefined) throw this.#failure;
        return seen.size >= count;
      },
      { what, timeoutMs, intervalMs: 10, detail: () => `${seen.size} of ${count} are` },
    );
    return Math.max(...seen.values());
  }

  async #follow(): Promise<void> {
    const { signal } = this.#abort;
    // Starts before the first pod exists, so every change is an event.
    for await (const { type, object } of this.#kube.watch('Pod', this.#namespace, { signal })) {
      const { name } = object.metadata;
      if (type === 'DELETED') this.#gone.set(name, performance.now());
      else if (!this.#ready.has(name) && isTrue(object.status?.conditions, 'Ready'))
        this.#ready.set(name, performance.now());
    }
    throw new Error('the watch ended');
  }
}

function median(values: Iterable<number>): number {
  const sorted = [...values].toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
