import type { PodUid } from '../../providers/contract/index.ts';
import type { StopIntent } from '../model/intent.ts';
import { graceSeconds, type Pod, podUid } from '../model/pod.ts';
import type { DesiredPod, DesiredStore } from '../model/stores.ts';

/**
 * What the API server wants on this node, by UID. A pod whose object is gone stays here with the intent 'removed' until its
 * worker has cleaned the backend and calls `forget`: a name that returns with another UID is simply another entry.
 */
export class DesiredPods implements DesiredStore {
  readonly #pods = new Map<PodUid, DesiredPod>();
  readonly #seenMs = new Map<PodUid, number>();
  readonly #notify: (uid: PodUid, change: 'spec' | 'stop') => void;
  readonly #now: () => number;

  /**
   * `notify` says "look at this UID again"; `stop` when a running turn should be cut short for it: once per pod, when it turns from
   * running to stopping. A turn that stops already is never cut: its calls are short, and a final delete must not be sent twice.
   */
  constructor(notify: (uid: PodUid, change: 'spec' | 'stop') => void, now: () => number = Date.now) {
    this.#notify = notify;
    this.#now = now;
  }

  get(uid: PodUid): DesiredPod | undefined {
    return this.#pods.get(uid);
  }

  all(): Iterable<DesiredPod> {
    return this.#pods.values();
  }

  /** When this process first heard of the pod; undefined if it knows no such pod. */
  seenMs(uid: PodUid): number | undefined {
    return this.#seenMs.get(uid);
  }

  /** The API object was added or changed. */
  put(pod: Pod): void {
    const uid = podUid(pod);
    const old = this.#pods.get(uid);
    if (old === undefined) this.#seenMs.set(uid, this.#now());
    const stop = earlier(old?.stop, deleteIntent(pod));
    this.#pods.set(uid, stop === undefined ? { pod } : { pod, stop });
    this.#notify(uid, stop !== undefined && old?.stop === undefined ? 'stop' : 'spec');
  }

  /** The API object is gone: by a force delete, or as the echo of our own final delete. */
  remove(pod: Pod): void {
    const uid = podUid(pod);
    const old = this.#pods.get(uid);
    if (old === undefined) return;
    // The kubelet kills a removed pod with what is left of its grace period, at least 1 s (reference 1.10.5, 2.10).
    const grace = effectiveGrace(
      pod.metadata.deletionGracePeriodSeconds ?? old.pod.metadata.deletionGracePeriodSeconds ?? graceSeconds(old.pod),
    );
    this.#pods.set(uid, {
      pod: old.pod,
      stop: { type: 'removed', graceSeconds: Math.min(grace, old.stop?.graceSeconds ?? grace) },
    });
    this.#notify(uid, old.stop === undefined ? 'stop' : 'spec');
  }

  /** Called by the pod's worker once the backend holds nothing of it and the API object is gone. */
  forget(uid: PodUid): void {
    this.#pods.delete(uid);
    this.#seenMs.delete(uid);
  }
}

function deleteIntent(pod: Pod): StopIntent | undefined {
  if (pod.metadata.deletionTimestamp === undefined) return undefined;
  return {
    type: 'delete',
    graceSeconds: effectiveGrace(pod.metadata.deletionGracePeriodSeconds ?? graceSeconds(pod)),
  };
}

/** At least one second, whatever was asked for (reference 2.10). */
function effectiveGrace(seconds: number): number {
  return Math.max(1, seconds);
}

/** One-way: a stop is never taken back and its grace period only shrinks. */
function earlier(old: StopIntent | undefined, next: StopIntent | undefined): StopIntent | undefined {
  if (next === undefined || old === undefined) return next ?? old;
  if (old.type === 'removed') return old;
  return { type: next.type, graceSeconds: Math.min(old.graceSeconds, next.graceSeconds) };
}
