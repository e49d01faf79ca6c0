import type { Duplex } from 'node:stream';
import type { Clock } from '../../../util/clock.ts';
import { CLIENT_PROBE_MS } from '../client-probe.ts';
import { STREAM_QUEUE } from './stream.ts';

/** Of all streams of a connection together. */
const CONNECTION_QUEUE = 32 * STREAM_QUEUE;

/** Stops reading the socket while what was read is not taken, and has the peer probed meanwhile. */
export class ReadGate {
  readonly #socket: Duplex;
  readonly #clock: Clock;
  readonly #probe: () => void;
  /** Streams whose queue is full. */
  readonly #full = new Set<object>();
  #queued = 0;
  #cancelProbe: (() => void) | undefined;
  #isOpenForGood = false;

  constructor(socket: Duplex, clock: Clock, probe: () => void) {
    this.#socket = socket;
    this.#clock = clock;
    this.#probe = probe;
  }

  get isPaused(): boolean {
    return this.#cancelProbe !== undefined;
  }

  /** A stream's queue has changed; it is full until half of it has been taken. */
  queued(stream: object, cost: number, before: number): void {
    this.#queued += cost - before;
    if (cost >= STREAM_QUEUE) this.#full.add(stream);
    else if (cost <= STREAM_QUEUE / 2) this.#full.delete(stream);
    const isFull = this.#full.size > 0 || this.#queued >= CONNECTION_QUEUE;
    if (isFull && !this.isPaused && !this.#isOpenForGood) {
      this.#socket.pause();
      this.#arm();
    } else if (!isFull && this.isPaused) this.#resume();
  }

  /** Whatever comes is discarded from here on. */
  openForGood(): void {
    this.#isOpenForGood = true;
    this.#resume();
  }

  /** The socket is gone. */
  stop(): void {
    this.#isOpenForGood = true;
    this.#cancelProbe?.();
    this.#cancelProbe = undefined;
  }

  #resume(): void {
    this.#cancelProbe?.();
    this.#cancelProbe = undefined;
    this.#socket.resume();
  }

  #arm(): void {
    this.#cancelProbe = this.#clock.timer(CLIENT_PROBE_MS, () => {
      this.#arm();
      this.#probe();
    });
  }
}
