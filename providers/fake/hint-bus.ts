import type { Labels, PodUid, ProviderError, ProviderHint } from '../contract/index.ts';

/** Hands hints to whoever watches. A watcher that is slow gets one hint per pod, however often it changed. */
export class HintBus {
  readonly #watchers = new Set<Watcher>();

  get watchers(): number {
    return this.#watchers.size;
  }

  emit(uid: PodUid, labels: Labels): void {
    for (const watcher of this.#watchers) watcher.offer(uid, labels);
  }

  resync(): void {
    for (const watcher of this.#watchers) watcher.resync();
  }

  /** Ends every stream that is open now: quietly, or with an error. */
  cut(error?: ProviderError): void {
    for (const watcher of [...this.#watchers]) watcher.end(error);
  }

  /** Listens from this call on, not from the first `next`. */
  watch(accepts: (labels: Labels) => boolean, signal: AbortSignal): AsyncIterable<ProviderHint> {
    const watcher = new Watcher(accepts, signal, () => this.#watchers.delete(watcher));
    this.#watchers.add(watcher);
    if (signal.aborted) watcher.end();
    return { [Symbol.asyncIterator]: () => watcher };
  }
}

class Watcher implements AsyncIterator<ProviderHint> {
  readonly #accepts: (labels: Labels) => boolean;
  readonly #signal: AbortSignal;
  readonly #onEnd: () => void;
  readonly #abort = (): void => this.end();
  readonly #pending = new Set<PodUid | 'resync'>();
  #wake: (() => void) | undefined;
  #ended = false;
  #error: ProviderError | undefined;

  constructor(accepts: (labels: Labels) => boolean, signal: AbortSignal, onEnd: () => void) {
    this.#accepts = accepts;
    this.#signal = signal;
    this.#onEnd = onEnd;
    signal.addEventListener('abort', this.#abort, { once: true });
  }

  offer(uid: PodUid, labels: Labels): void {
    if (!this.#accepts(labels)) return;
    this.#pending.add(uid);
    this.#wake?.();
  }

  resync(): void {
    this.#pending.add('resync');
    this.#wake?.();
  }

  end(error?: ProviderError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#signal.removeEventListener('abort', this.#abort);
    this.#onEnd();
    this.#wake?.();
  }

  async next(): Promise<IteratorResult<ProviderHint>> {
    for (;;) {
      const [first] = this.#pending;
      if (first !== undefined) {
        this.#pending.delete(first);
        return { done: false, value: first === 'resync' ? { type: 'resync' } : { type: 'pod', uid: first } };
      }
      if (this.#ended) {
        const error = this.#error;
        this.#error = undefined;
        if (error !== undefined) throw error;
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  async return(): Promise<IteratorResult<ProviderHint>> {
    this.end();
    return { done: true, value: undefined };
  }
}
