import { once } from 'node:events';
import type { Writable } from 'node:stream';

const BATCH_BYTES = 64 * 1024;

/**
 * Writes lines so that one that comes alone goes out at once, and those that come together go out together (a write per line
 * costs ten times the work). Waits while the reader is slower.
 */
export class LineOutput {
  readonly #stream: Writable;
  readonly #signal: AbortSignal;
  #batch: Uint8Array[] = [];
  #bytes = 0;
  #scheduled: NodeJS.Immediate | undefined;

  constructor(stream: Writable, signal: AbortSignal) {
    this.#stream = stream;
    this.#signal = signal;
  }

  /** Nothing to wait for unless a promise comes back: awaiting every line would cost more than writing it. */
  write(line: Uint8Array): Promise<void> | undefined {
    this.#batch.push(line);
    this.#bytes += line.length;
    if (this.#bytes >= BATCH_BYTES || this.#stream.writableNeedDrain) return this.#flushAndWait();
    this.#scheduled ??= setImmediate(() => this.flush());
    return undefined;
  }

  /** True when the stream takes more. */
  flush(): boolean {
    clearImmediate(this.#scheduled);
    this.#scheduled = undefined;
    if (this.#bytes === 0) return true;
    const batch = Buffer.concat(this.#batch, this.#bytes);
    this.#batch = [];
    this.#bytes = 0;
    return this.#stream.write(batch);
  }

  async #flushAndWait(): Promise<void> {
    if (!this.flush() || this.#stream.writableNeedDrain) await once(this.#stream, 'drain', { signal: this.#signal });
  }
}
