/** Admits `burst` at once and `perSecond` in the long run. A rate of 0 admits everything, as the kubelet's QPS settings do. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #filledAtMs: number;

  constructor(nowMs: number, perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAtMs = nowMs;
  }

  /** Takes one if there is one; never waits. */
  tryTake(nowMs: number): boolean {
    if (this.#perSecond === 0) return true;
    if (this.waitMs(nowMs) > 0) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Milliseconds until there is one. */
  waitMs(nowMs: number): number {
    if (this.#perSecond === 0) return 0;
    const elapsedMs = Math.max(0, nowMs - this.#filledAtMs);
    this.#tokens = Math.min(this.#burst, this.#tokens + (elapsedMs / 1000) * this.#perSecond);
    this.#filledAtMs = nowMs;
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1000);
  }
}
