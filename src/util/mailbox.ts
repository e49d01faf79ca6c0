import type { Clock } from './clock.ts';

/**
 * One entry per key, "look at it again": any number of posts while a key is being handled become one more turn.
 * A key is never handled twice at the same time; different keys are handled side by side.
 */
export class Mailbox<Key> {
  readonly #entries = new Map<Key, { running: boolean; again: boolean; cancelWake?: () => void }>();
  readonly #handle: (key: Key) => Promise<void>;
  readonly #clock: Clock;
  #closed = false;

  /** `handle` must not reject: who knows what a failure means is the handler. */
  constructor(clock: Clock, handle: (key: Key) => Promise<void>) {
    this.#clock = clock;
    this.#handle = handle;
  }

  /** Keys that are being handled now. */
  get busy(): number {
    let count = 0;
    for (const { running } of this.#entries.values()) if (running) count++;
    return count;
  }

  post(key: Key): void {
    if (this.#closed) return;
    const entry = this.#entry(key);
    if (entry.running) {
      entry.again = true;
      return;
    }
    this.#run(key, entry);
  }

  /** Posts the key after `ms`, unless an earlier post or wake comes first (a new wake replaces the old one). */
  wake(key: Key, ms: number): void {
    if (this.#closed) return;
    const entry = this.#entry(key);
    entry.cancelWake?.();
    entry.cancelWake = this.#clock.timer(Math.max(0, ms), () => {
      delete entry.cancelWake;
      this.post(key);
    });
  }

  /** Forgets the key and its wake; a turn that is running ends by itself. */
  drop(key: Key): void {
    const entry = this.#entries.get(key);
    entry?.cancelWake?.();
    if (entry !== undefined && !entry.running) this.#entries.delete(key);
  }

  close(): void {
    this.#closed = true;
    for (const entry of this.#entries.values()) entry.cancelWake?.();
  }

  #entry(key: Key): { running: boolean; again: boolean; cancelWake?: () => void } {
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      entry = { running: false, again: false };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #run(key: Key, entry: { running: boolean; again: boolean; cancelWake?: () => void }): void {
    entry.running = true;
    entry.again = false;
    entry.cancelWake?.();
    delete entry.cancelWake;
    // The handler owns its failures (see the constructor); a rejection here would be a bug and ends the process.
    void this.#handle(key).then(() => {
      entry.running = false;
      if (entry.again && !this.#closed) this.#run(key, entry);
      else if (entry.cancelWake === undefined) this.#entries.delete(key);
    });
  }
}
