import type { SpdyStream } from './stream.ts';

/** Of all open streams of a connection; room for the 10,000 streams of a client that says what Kubernetes' say. */
const MAX_COST = 4 << 20;
/** What a header costs besides its text. */
const OVERHEAD = 64;

/** What the headers of open streams take: blocks are compressed, so a client fills our memory at no cost to itself. */
export class HeaderBudget {
  #cost = 0;

  /** Whether these may be kept; then they count until they are released. */
  take(headers: SpdyStream['headers']): boolean {
    const cost = costOf(headers);
    if (this.#cost + cost > MAX_COST) return false;
    this.#cost += cost;
    return true;
  }

  release(headers: SpdyStream['headers']): void {
    this.#cost -= costOf(headers);
  }
}

function costOf(headers: SpdyStream['headers']): number {
  let cost = 0;
  for (const [name, value] of headers) cost += name.length + value.length + OVERHEAD;
  return cost;
}
