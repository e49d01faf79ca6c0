import { ChildAbort } from '../../util/abort.ts';
import type { Clock } from '../../util/clock.ts';

/** A signal that aborts when the time of one attempt is over, or with its parent. */
export class Deadline implements Disposable {
  readonly timeoutMs: number;
  readonly #abort: ChildAbort;
  readonly #cancel: () => void;
  #expired = false;

  constructor(clock: Clock, timeoutMs: number, parent: AbortSignal) {
    this.timeoutMs = timeoutMs;
    this.#abort = new ChildAbort(parent);
    this.#cancel = clock.timer(timeoutMs, () => {
      this.#expired = true;
      this.#abort.abort(new Error('the probe timed out'));
    });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The time is over; false when the parent was the one that aborted. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Also ends what is still going on: nothing of an attempt outlives it. */
  [Symbol.dispose](): void {
    this.#cancel();
    this.#abort[Symbol.dispose]();
    this.#abort.abort(new Error('the probe is over'));
  }
}
