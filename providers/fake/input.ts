import { Writable } from 'node:stream';

const INTERRUPT = 0x03;
const END_OF_INPUT = 0x04;

/** Standard input of a command: what is written waits until the command takes it. */
export class FakeInput {
  readonly writable: Writable;
  #waiting: { data: Buffer; readonly taken: () => void } | undefined;
  #ended = false;
  #wake: () => void = () => {};

  /** On a terminal, ctrl-c interrupts and ctrl-d is the end; that the writer goes away says nothing. */
  constructor({ terminal, onInterrupt }: { readonly terminal: boolean; readonly onInterrupt: () => void }) {
    const end = (): void => {
      if (!terminal) this.end();
    };
    this.writable = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (terminal && chunk.includes(INTERRUPT)) onInterrupt();
        const last = terminal ? chunk.indexOf(END_OF_INPUT) : -1;
        this.#waiting = { data: last < 0 ? chunk : chunk.subarray(0, last), taken: done };
        if (last >= 0) this.#ended = true;
        this.#wake();
      },
      final: (done) => {
        end();
        done();
      },
      destroy: (error, done) => {
        end();
        done(error);
      },
    });
    this.writable.on('error', () => {});
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** At most `max` bytes; undefined at the end. */
  async read(max = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    for (;;) {
      const waiting = this.#waiting;
      if (waiting !== undefined) {
        const data = waiting.data.subarray(0, max);
        waiting.data = waiting.data.subarray(data.length);
        if (waiting.data.length === 0) {
          this.#waiting = undefined;
          waiting.taken();
        }
        if (data.length > 0) return data;
        continue;
      }
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
