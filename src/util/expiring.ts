import type { Clock } from './clock.ts';
import { Lru } from './lru.ts';

interface Entry<T> {
  readonly value: T;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Answers that count for a while, as many as the limit says. When the machine's clock is set back behind an answer, it is over. */
export class Expiring<K, V> {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #entries: Lru<K, Entry<V>>;

  constructor(limit: number, clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#entries = new Lru(limit);
  }

  /** Wrapped, since a value may be undefined. */
  get(key: K): { readonly value: V } | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    const nowMs = this.#clock.now();
    return entry.fromMs <= nowMs && nowMs < entry.untilMs ? entry : undefined;
  }

  set(key: K, value: V, keepMs: number): void {
    if (keepMs <= 0) return;
    const fromMs = this.#clock.now();
    this.#entries.set(key, { value, fromMs, untilMs: fromMs + keepMs });
  }
}
