import type { Clock } from '../util/clock.ts';

/** Milliseconds that never go back: when the machine's clock is set back, only the time since the last look is lost. */
export class SteadyClock {
  readonly #clock: Pick<Clock, 'now'>;
  #steady = 0;
  #last: number;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.#last = clock.now();
  }

  now(): number {
    const now = this.#clock.now();
    this.#steady += Math.max(0, now - this.#last);
    this.#last = now;
    return this.#steady;
  }

  /** When, on this clock, something happened that the machine's clock has at `ms`; what lies in the future happens now. */
  at(ms: number): number {
    return this.now() - Math.max(0, this.#last - ms);
  }
}
