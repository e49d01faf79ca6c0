import type { LogRecord, LogRequest } from '../contract/index.ts';

/** Old lines are dropped beyond this many, as a rotated log would. */
const LIMIT = 10_000;

interface LogListener {
  readonly onRecord: (record: LogRecord) => void;
  readonly onEnd: () => void;
}

/** The output of one container, kept until the container is removed. */
export class LogBuffer {
  #records: LogRecord[] = [];
  /** Records dropped so far: positions of readers count from the first record ever written. */
  #dropped = 0;
  #ended = false;
  #waiting: (() => void)[] = [];
  readonly #listeners = new Set<LogListener>();

  write(atMs: number, stream: LogRecord['stream'], text: string, partial: boolean): void {
    // Nanoseconds make times of one millisecond distinct and ordered, as on an engine.
    const nanos = String((this.#dropped + this.#records.length) % 1_000_000).padStart(6, '0');
    const time = `${new Date(atMs).toISOString().slice(0, 23)}${nanos}Z`;
    const record: LogRecord = { time, stream, line: new TextEncoder().encode(text), partial };
    this.#records.push(record);
    for (const { onRecord } of this.#listeners) onRecord(record);
    if (this.#records.length > LIMIT) {
      this.#records.shift();
      this.#dropped++;
    }
    this.#wake();
  }

  end(): void {
    if (!this.#ended) for (const { onEnd } of this.#listeners) onEnd();
    this.#ended = true;
    this.#wake();
  }

  /** Told of what is written from now on, at once; the function returned ends it. */
  listen(onRecord: (record: LogRecord) => void, onEnd: () => void): () => void {
    const listener = { onRecord, onEnd };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async *read(request: LogRequest, signal: AbortSignal): AsyncGenerator<LogRecord> {
    const since = request.since?.getTime() ?? 0;
    const wanted = (record: LogRecord): boolean => Date.parse(`${record.time.slice(0, 23)}Z`) >= since;
    let position = this.#dropped + this.#records.length;
    const first = this.#records.filter(wanted);
    const tail = request.tailLines;
    yield* tail === undefined ? first : tail === 0 ? [] : first.slice(-tail);
    while (request.follow && !signal.aborted) {
      const from = Math.max(0, position - this.#dropped);
      const fresh = this.#records.slice(from);
      position = this.#dropped + this.#records.length;
      yield* fresh.filter(wanted);
      if (fresh.length > 0) continue;
      if (this.#ended) return;
      await this.#change(signal);
    }
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener('abort', done);
        resolve();
      };
      signal.addEventListener('abort', done, { once: true });
      this.#waiting.push(done);
    });
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }
}
