/** `burst` tokens at first, one more every `intervalMs`, never more than `burst`. */
export class TokenBucket {
  readonly #burst: number;
  readonly #intervalMs: number;
  #tokens: number;
  #countedAt: number;

  constructor(options: { readonly burst: number; readonly intervalMs: number; readonly now: number }) {
    this.#burst = options.burst;
    this.#intervalMs = options.intervalMs;
    this.#tokens = options.burst;
    this.#countedAt = options.now;
  }

  /** Takes a token if there is one. */
  tryTake(now: number): boolean {
    if (this.waitMs(now) > 0) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Milliseconds until there is a token. */
  waitMs(now: number): number {
    const grown = Math.max(0, now - this.#countedAt) / this.#intervalMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + grown);
    this.#countedAt = now;
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) * this.#intervalMs);
  }
}
