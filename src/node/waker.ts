import type { Clock } from '../util/clock.ts';

/** A pause that can be cut short. A wake while nobody waits cuts the next pause, so nothing that happened meanwhile is missed. */
export class Waker {
  readonly #clock: Clock;
  #pending = false;
  #cut: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#pending = true;
    this.#cut?.();
  }

  /** Resolves after `ms`, at a wake, or when the signal aborts: whoever loops looks at the signal anyway. */
  wait(ms: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#pending = false;
        this.#cut = undefined;
        cancel();
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = this.#clock.timer(ms, done);
      signal.addEventListener('abort', done, { once: true });
      this.#cut = done;
      if (this.#pending || signal.aborted) done();
    });
  }
}
