import type { PodUid } from '../../providers/contract/index.ts';
import { type BackoffPolicy, backoffDelayMs } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';

/** Reference 2.5. A success does not reset it; silence for twice the longest delay does. */
const POLICY: BackoffPolicy = { baseMs: 10_000, maxMs: 300_000 };
const EXPIRES_AFTER_MS = 2 * POLICY.maxMs;

interface Entry {
  readonly failures: number;
  readonly failedAtMs: number;
  /** `ErrImagePull: <text>`, shown as long as the image is not tried again. */
  readonly error: string;
}

/** Pull back-off per pod and image, as the image is written in the pod. */
export class PullBackoff {
  readonly #clock: Clock;
  readonly #pods = new Map<PodUid, Map<string, Entry>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The back-off that this image is in now, if any. */
  current(uid: PodUid, image: string): { readonly untilMs: number; readonly error: string } | undefined {
    const entry = this.#live(uid, image);
    if (entry === undefined) return undefined;
    const untilMs = entry.failedAtMs + backoffDelayMs(POLICY, entry.failures);
    return this.#clock.now() < untilMs ? { untilMs, error: entry.error } : undefined;
  }

  failed(uid: PodUid, image: string, error: string): void {
    const failures = (this.#live(uid, image)?.failures ?? 0) + 1;
    const images = this.#pods.get(uid) ?? new Map<string, Entry>();
    images.set(image, { failures, failedAtMs: this.#clock.now(), error });
    this.#pods.set(uid, images);
  }

  forget(uid: PodUid): void {
    this.#pods.delete(uid);
  }

  #live(uid: PodUid, image: string): Entry | undefined {
    const images = this.#pods.get(uid);
    const entry = images?.get(image);
    if (images === undefined || entry === undefined) return undefined;
    const nowMs = this.#clock.now();
    if (nowMs - entry.failedAtMs > EXPIRES_AFTER_MS) return undefined;
    if (nowMs >= entry.failedAtMs) return entry;
    // The machine's clock was set back: a failure in the future would hold the image back until then.
    const failedNow = { ...entry, failedAtMs: nowMs };
    images.set(image, failedNow);
    return failedNow;
  }
}
