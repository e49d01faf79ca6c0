import type { Clock } from '../../util/clock.ts';

/** Calls back once, when nothing has happened for so long. Cheap to touch: the timer is not set anew each time. */
export class IdleTimer {
  readonly #clock: Pick<Clock, 'now' | 'timer'>;
  readonly #limitMs: number;
  readonly #onIdle: () => void;
  #lastMs: number;
  #cancel: () => void;

  constructor(clock: Pick<Clock, 'now' | 'timer'>, limitMs: number, onIdle: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onIdle = onIdle;
    this.#lastMs = clock.now();
    this.#cancel = clock.timer(limitMs, () => this.#check());
  }

  touch(): void {
    this.#lastMs = this.#clock.now();
  }

  stop(): void {
    this.#cancel();
  }

  #check(): void {
    // A clock set back counts as activity: an early end would be worse than a late one.
    const idleMs = Math.max(0, this.#clock.now() - this.#lastMs);
    if (idleMs >= this.#limitMs) this.#onIdle();
    else this.#cancel = this.#clock.timer(this.#limitMs - idleMs, () => this.#check());
  }
}
