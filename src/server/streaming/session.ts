import type { Readable, Writable } from 'node:stream';
import type { TerminalSize } from '../../../providers/contract/index.ts';
import { ResizeDecoder } from './resize.ts';
import type { StreamStatus } from './status.ts';

/** The client's side of exec and attach, whatever it speaks. */
export interface RemoteSession {
  /** Present as asked for. */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  readonly sizes: TerminalSizes;
  /** Aborts when the client is gone, or the server ends the connection. */
  readonly signal: AbortSignal;
  /** Outputs first, then the status, then the connection: a client drops what comes later (streaming reference, section 4). Never rejects. */
  finish(status: StreamStatus): Promise<void>;
}

/** What the client said about its terminal. The first size comes before anybody listens: the last one is kept. */
export class TerminalSizes {
  readonly #decoder = new ResizeDecoder();
  #last: TerminalSize | undefined;
  #listener: ((size: TerminalSize) => void) | undefined;

  push(bytes: Uint8Array): void {
    for (const size of this.#decoder.push(bytes)) {
      this.#last = size;
      this.#listener?.(size);
    }
  }

  listen(listener: (size: TerminalSize) => void): void {
    this.#listener = listener;
    if (this.#last !== undefined) listener(this.#last);
  }
}

/** Ends a stream, with a last piece if there is one, and waits until that has left or the stream is gone. */
export function ended(stream: Writable | undefined, last = ''): Promise<void> {
  return new Promise((resolve) => {
    if (stream === undefined || stream.destroyed || stream.writableEnded) {
      resolve();
      return;
    }
    stream.once('close', () => resolve());
    stream.once('error', () => resolve());
    if (last === '') stream.end(() => resolve());
    else stream.end(last, () => resolve());
  });
}
