/** A counter at a moment. */
export interface Reading {
  readonly key: string;
  readonly timeMs: number;
  readonly nanos: number;
}

interface Known {
  /** What the next rate is measured from. */
  readonly base: Reading;
  readonly rate?: number;
}

/** Two readings closer than this say more about the clock than about the load. */
const MIN_SPAN_MS = 1_000;

/** Nanocores out of the last two readings of each counter. Counters that are no longer read are forgotten. */
export class Rates {
  #known: ReadonlyMap<string, Known> = new Map();

  /** Every counter there is, read once. */
  update(readings: readonly Reading[]): void {
    this.#known = new Map(readings.map((reading) => [reading.key, follow(this.#known.get(reading.key), reading)]));
  }

  get(key: string): number | undefined {
    return this.#known.get(key)?.rate;
  }
}

function follow(known: Known | undefined, reading: Reading): Known {
  // A counter that went back, or a clock: whatever it counts has begun anew.
  if (known === undefined || reading.nanos < known.base.nanos || reading.timeMs < known.base.timeMs)
    return { base: reading };
  const spanMs = reading.timeMs - known.base.timeMs;
  if (spanMs < MIN_SPAN_MS) return known;
  return { base: reading, rate: ((reading.nanos - known.base.nanos) / spanMs) * 1000 };
}
