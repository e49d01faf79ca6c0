import type { Clock } from '../util/clock.ts';

/** Time that moves only when the test says so. */
export class FakeClock implements Clock {
  #now: number;
  #timers: { at: number; run: () => void }[] = [];

  constructor(now = Date.parse('2026-01-02T03:04:05Z')) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** Somebody sets the machine's clock: timers that run keep their time, as those of the system do. */
  set(now: number): void {
    const jump = now - this.#now;
    this.#now = now;
    for (const timer of this.#timers) timer.at += jump;
  }

  timer(ms: number, callback: () => void): () => void {
    const entry = { at: this.#now + ms, run: callback };
    this.#timers.push(entry);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== entry);
    };
  }

  sleep(ms: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const cancel = this.timer(ms, () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
      const onAbort = (): void => {
        cancel();
        reject(signal.reason);
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Moves time forward, running due timers in order and letting promises settle after each. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settle();
      const next = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
    await settle();
  }
}

/** Lets everything that is already resolved run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
