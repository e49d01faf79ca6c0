import PQueue from 'p-queue';
import type { ImageFacet, PulledImage, RegistryAuth } from '../../providers/contract/index.ts';
import { untilAborted } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { TokenBucket } from '../util/token-bucket.ts';

export interface PullLimits {
  /** Pulls at the same time; 1 is the kubelet's default (serializeImagePulls), absent is no limit. */
  readonly maxParallelPulls?: number;
  /** `registryPullQPS` (0: no limit) and `registryBurst`. */
  readonly pullQps: number;
  readonly pullBurst: number;
}

export interface FinishedPull {
  readonly image: PulledImage;
  /** Without the time in the queue. */
  readonly durationMs: number;
}

interface Flight {
  readonly result: Promise<FinishedPull>;
  readonly controller: AbortController;
  waiters: number;
}

/**
 * One pull at a time for an image and a set of credentials; everybody who asks meanwhile waits for that one. Other credentials
 * are another pull: a pod must not profit from what only its neighbour may read.
 */
export class SharedPulls {
  readonly #images: Pick<ImageFacet, 'pullImage'>;
  readonly #clock: Clock;
  readonly #queue: PQueue;
  readonly #bucket: TokenBucket;
  readonly #flights = new Map<string, Flight>();

  constructor(images: Pick<ImageFacet, 'pullImage'>, clock: Clock, limits: PullLimits) {
    this.#images = images;
    this.#clock = clock;
    this.#queue = new PQueue({ concurrency: limits.maxParallelPulls ?? Number.POSITIVE_INFINITY });
    this.#bucket = new TokenBucket(clock.now(), limits.pullQps, limits.pullBurst);
  }

  /** The signal ends this caller's wait; the pull itself ends with the last waiter. */
  async pull(
    image: string,
    auth: readonly RegistryAuth[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<FinishedPull> {
    signal.throwIfAborted();
    const key = JSON.stringify([image, auth]);
    const flight = this.#flights.get(key) ?? this.#start(key, image, auth);
    flight.waiters += 1;
    try {
      return await untilAborted(flight.result, signal);
    } finally {
      flight.waiters -= 1;
      if (flight.waiters === 0) {
        // Off the map first: who comes now gets a pull of its own, not one that is being aborted.
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.controller.abort();
      }
    }
  }

  #start(key: string, image: string, auth: readonly RegistryAuth[]): Flight {
    const controller = new AbortController();
    const { signal } = controller;
    const result = this.#queue.add(() => this.#pullNow(image, auth, signal), { signal });
    const flight: Flight = { result, controller, waiters: 0 };
    this.#flights.set(key, flight);
    const leave = (): void => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    // Also keeps a failure that no waiter is left to see from ending the process.
    result.then(leave, leave);
    return flight;
  }

  async #pullNow(image: string, auth: readonly RegistryAuth[], signal: AbortSignal): Promise<FinishedPull> {
    if (!this.#bucket.tryTake(this.#clock.now())) throw new Error('pull QPS exceeded');
    const startedAt = this.#clock.now();
    const pulled = await this.#images.pullImage(image, auth, { signal });
    return { image: pulled, durationMs: this.#clock.now() - startedAt };
  }
}
