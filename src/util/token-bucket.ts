import type { Clock } from './clock.ts';

/** Admits `burst` at once and `perSecond` in the long run. A rate of 0 admits everything, as the kubelet's QPS settings do. */
export class TokenBucket {
  readonly #clock: Clock;
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #filledAtMs: number;

  constructor(clock: Clock, perSecond: number, burst: number) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAtMs = clock.now();
  }

  /** Takes one if there is one; never waits. */
  tryTake(): boolean {
    if (this.#perSecond === 0) return true;
    const now = this.#clock.now();
    const elapsedMs = Math.max(0, now - this.#filledAtMs);
    this.#tokens = Math.min(this.#burst, this.#tokens + (elapsedMs / 1000) * this.#perSecond);
    this.#filledAtMs = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
