import { Readable } from 'node:stream';

/** One output of a session. It takes what is offered and says when it has had enough. */
export class SessionOutput extends Readable {
  readonly #onRoom: () => void;
  #full = false;

  /** `onRoom` is called whenever there is room again. */
  constructor(onRoom: () => void) {
    super();
    this.#onRoom = onRoom;
    // A session that ends while nobody reads it must not end the process.
    this.on('error', () => {});
  }

  /** What is offered now is still taken, but not more. */
  get full(): boolean {
    return this.#full && !this.destroyed;
  }

  /** A reader that went away holds nobody back: what it does not want is dropped, as by /dev/null. */
  offer(data: Buffer): void {
    if (this.destroyed || data.length === 0) return;
    this.#full = !this.push(data);
  }

  finish(): void {
    if (!this.destroyed) this.push(null);
  }

  /** The reader has had everything, or has gone. */
  get settled(): Promise<void> {
    if (this.readableEnded || this.closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.once('end', resolve);
      this.once('close', resolve);
    });
  }

  override _read(): void {
    this.#full = false;
    this.#onRoom();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#full = false;
    done(error);
    this.#onRoom();
  }
}
