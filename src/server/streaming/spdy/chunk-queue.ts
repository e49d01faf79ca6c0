/** What a queued chunk costs besides its bytes: the Buffer object, and the slot. */
const OVERHEAD = 256;
/** Smaller pieces are copied, as each would keep the whole of what the socket read alive. */
const COPY_BELOW = 4096;

/** Chunks waiting to be read, and what they cost in memory: many tiny ones count as what they are. */
export class ChunkQueue {
  #chunks: Buffer[] = [];
  #first = 0;
  #cost = 0;

  get cost(): number {
    return this.#cost;
  }

  get isEmpty(): boolean {
    return this.#first === this.#chunks.length;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk.length < COPY_BELOW ? Buffer.from(chunk) : chunk);
    this.#cost += chunk.length + OVERHEAD;
  }

  take(): Buffer | undefined {
    const chunk = this.#chunks[this.#first];
    if (chunk === undefined) return undefined;
    this.#first++;
    this.#cost -= chunk.length + OVERHEAD;
    if (this.isEmpty) this.clear();
    else if (this.#first >= 1024) {
      this.#chunks.splice(0, this.#first);
      this.#first = 0;
    }
    return chunk;
  }

  clear(): void {
    this.#chunks = [];
    this.#first = 0;
    this.#cost = 0;
  }
}
