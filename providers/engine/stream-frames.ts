/** A run of bytes of one stream. `engine` is the engine speaking of an error of its own. */
export interface StreamPiece {
  readonly stream: 'stdout' | 'stderr' | 'engine';
  readonly data: Buffer;
}

const HEADER_BYTES = 8;
/** Below this a copy is cheaper than a piece more. */
const SMALL_BYTES = 4096;

/**
 * Takes apart the output of a command without a terminal: frames of one byte of stream, three of nothing, four of length. The content
 * is handed on as it arrives, so a frame's length, true or not, costs no memory. Neighbouring frames of one stream that arrived
 * together come as one piece: programs that write little at a time would otherwise drown what follows in tiny writes.
 */
export class StreamFrames {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #left = 0;
  #stream: StreamPiece['stream'] = 'stdout';

  push(chunk: Buffer): readonly StreamPiece[] {
    const runs: { stream: StreamPiece['stream']; parts: Buffer[] }[] = [];
    for (let at = 0; at < chunk.length; ) {
      if (this.#left === 0) {
        at += this.#readHeader(chunk, at);
        continue;
      }
      const part = chunk.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      const run = runs.at(-1);
      if (run?.stream === this.#stream && part.length < SMALL_BYTES) run.parts.push(part);
      else runs.push({ stream: this.#stream, parts: [part] });
    }
    return runs.map(({ stream, parts: [first, ...rest] }) => ({
      stream,
      // One piece of many, or the chunk itself without a copy.
      data: first === undefined || rest.length > 0 ? Buffer.concat([first ?? Buffer.alloc(0), ...rest]) : first,
    }));
  }

  /** A frame has begun and is not complete. */
  get midFrame(): boolean {
    return this.#left > 0 || this.#headerBytes > 0;
  }

  #readHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#headerBytes, at, at + HEADER_BYTES - this.#headerBytes);
    this.#headerBytes += copied;
    if (this.#headerBytes < HEADER_BYTES) return copied;
    this.#headerBytes = 0;
    this.#stream = streamOf(this.#header[0]);
    this.#left = this.#header.readUInt32BE(4);
    return copied;
  }
}

function streamOf(type: number | undefined): StreamPiece['stream'] {
  switch (type) {
    case 0: // what is written to standard input, in the engine's protocol; it sends none
    case 1:
      return 'stdout';
    case 2:
      return 'stderr';
    case 3:
      return 'engine';
    default:
      throw new Error('the output of the engine is not framed as it should be');
  }
}
