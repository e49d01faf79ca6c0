import type { Clock } from '../../util/clock.ts';

/** Time is counted in parts, so that `touch`, called for every chunk, is one assignment. Fires up to one part late. */
const PARTS = 16;

export class IdleTimer {
  readonly #clock: Clock;
  readonly #partMs: number;
  readonly #onIdle: () => void;
  #partsLeft = PARTS;
  #cancel: () => void;

  constructor(clock: Clock, timeoutMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#partMs = timeoutMs / PARTS;
    this.#onIdle = onIdle;
    this.#cancel = this.#arm();
  }

  touch(): void {
    this.#partsLeft = PARTS + 1; // the current part has begun already
  }

  stop(): void {
    this.#cancel();
  }

  #arm(): () => void {
    return this.#clock.timer(this.#partMs, () => {
      this.#partsLeft--;
      if (this.#partsLeft > 0) this.#cancel = this.#arm();
      else this.#onIdle();
    });
  }
}
