import type { ObservedPod, PodUid } from '../../providers/contract/index.ts';
import type { Rejection } from '../model/intent.ts';
import { formatPod, isTerminalPhase, type Pod, type PodStatus, podUid } from '../model/pod.ts';
import { ChildAbort } from '../util/abort.ts';
import { errorMessage } from '../util/errors.ts';
import { Mailbox } from '../util/mailbox.ts';
import type { PodEvent } from './ports.ts';
import { PodWorker, type WorkerDeps } from './worker.ts';

export interface WorkersDeps extends WorkerDeps {
  readonly backend: { all(): Iterable<ObservedPod>; forget(uid: PodUid): void };
  /** Decides about a pod seen for the first time; `others` are the admitted pods that still use the node. */
  readonly admit: (pod: Pod, others: readonly Pod[]) => Rejection | undefined;
  /** Asks the API server for the Node, so that `admit` does not judge by what was true a moment ago. */
  readonly refreshNode: (options: { readonly signal: AbortSignal }) => Promise<unknown>;
  readonly event: (pod: Pod, event: PodEvent) => void;
  readonly signal: AbortSignal;
}

/**
 * UID → worker. Nothing moves before both sides have been listed once: then recovery after a restart is no special case, the
 * containers that survived are simply already observed.
 */
export class Workers {
  readonly #deps: WorkersDeps;
  readonly #workers = new Map<PodUid, PodWorker>();
  readonly #turns = new Map<PodUid, ChildAbort>();
  readonly #mailbox: Mailbox<PodUid>;
  #open = false;

  constructor(deps: WorkersDeps) {
    this.#deps = deps;
    this.#mailbox = new Mailbox(deps.clock, (uid) => this.#turn(uid));
  }

  /** Both sources are synced and the node's facts are known: look at everything, in order of creation (reference 6.1). */
  open(): void {
    const { desired, backend } = this.#deps;
    this.#open = true;
    const pods = [...desired.all()].map(({ pod }) => pod).sort((a, b) => (creation(a) < creation(b) ? -1 : 1));
    for (const pod of pods) this.post(podUid(pod));
    for (const { pod } of backend.all()) this.post(pod.uid);
  }

  /** Something about this pod changed. `stop` cuts a running turn short: a deletion does not wait for an image pull. */
  post(uid: PodUid, change: 'spec' | 'stop' = 'spec'): void {
    if (!this.#open) return;
    if (change === 'stop') {
      this.#workers.get(uid)?.hurry();
      this.#turns.get(uid)?.abort(new Error('the pod is to be stopped'));
    }
    this.#mailbox.post(uid);
  }

  /** The backend is back: who waits for another try need not wait for the rest of it. */
  retryNow(): void {
    for (const [uid, worker] of this.#workers) {
      worker.hurry();
      this.post(uid);
    }
  }

  /** An object that this pod's volumes show has changed. */
  volumesChanged(uid: PodUid): void {
    this.#workers.get(uid)?.markVolumesDirty();
    this.post(uid);
  }

  /** Turns that run now. */
  get turning(): number {
    return this.#mailbox.busy;
  }

  /** Where the pods of all workers stand, as the kubelet counts them. */
  counts(): readonly { readonly lifecycle: string; readonly config: string; readonly count: number }[] {
    const counts = new Map<string, number>();
    for (const [uid, { memory }] of this.#workers) {
      const entry = this.#deps.desired.get(uid);
      const over = memory.finalWritten || isTerminalPhase(memory.status?.phase);
      const lifecycle = over ? 'terminated' : entry?.stop === undefined && entry !== undefined ? 'sync' : 'terminating';
      const config = entry === undefined ? 'runtime_only' : entry.stop?.type === 'removed' ? 'orphan' : 'desired';
      const key = `${lifecycle} ${config}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].map(([key, count]) => {
      const [lifecycle = '', config = ''] = key.split(' ');
      return { lifecycle, config, count };
    });
  }

  /** The status computed last; what the API server has may be older. */
  status(uid: PodUid): PodStatus | undefined {
    return this.#workers.get(uid)?.memory.status;
  }

  close(): void {
    this.#mailbox.close();
    for (const turn of this.#turns.values()) turn.abort(new Error('shutting down'));
  }

  /** Admission happens before the first await of a turn, so that pods are judged one after the other. */
  async #turn(uid: PodUid): Promise<void> {
    using turn = new ChildAbort(this.#deps.signal);
    this.#turns.set(uid, turn);
    const isNew = !this.#workers.has(uid);
    const worker = this.#workers.get(uid) ?? (await this.#newWorker(uid, turn.signal));
    const outcome = await this.#timed(uid, isNew, worker, turn.signal);
    this.#turns.delete(uid);
    if (outcome === undefined) return;
    if (outcome !== 'done') {
      this.#mailbox.wake(uid, outcome.wakeAtMs - this.#deps.clock.now());
      return;
    }
    this.#workers.delete(uid);
    this.#deps.backend.forget(uid);
    this.#mailbox.drop(uid);
  }

  async #timed(uid: PodUid, isNew: boolean, worker: PodWorker | undefined, signal: AbortSignal) {
    const { clock, desired, metrics } = this.#deps;
    const startMs = clock.now();
    const outcome = await worker?.turn(signal);
    if (outcome === undefined || metrics === undefined) return outcome;
    const stopping = desired.get(uid)?.stop !== undefined;
    const operation = outcome === 'done' ? 'terminated' : stopping ? 'kill' : isNew ? 'create' : 'sync';
    metrics.turn(operation, (clock.now() - startMs) / 1000, worker?.memory.retry !== undefined);
    return outcome;
  }

  /** Undefined if there is nothing to do for this UID now. */
  async #newWorker(uid: PodUid, signal: AbortSignal): Promise<PodWorker | undefined> {
    const { desired, observed } = this.#deps;
    const entry = desired.get(uid);
    if (entry === undefined && observed.get(uid)?.pod === undefined) {
      this.#deps.backend.forget(uid);
      return undefined;
    }
    const worker = new PodWorker(uid, this.#deps);
    if (entry === undefined) this.#deps.metrics?.orphanFound();
    else this.#deps.metrics?.workerStarted(this.#waitedSeconds(uid), entry.pod.spec.containers.length);
    if (entry !== undefined && entry.stop === undefined && !isTerminalPhase(entry.pod.status?.phase)) {
      let rejection = this.#judge(entry.pod);
      if (rejection?.reason === 'NodeAffinity') {
        // The pod may have come before the label that it was placed by: two watches have no common order (reference 6.2).
        await this.#deps.refreshNode({ signal }).catch(() => undefined); // then what is known counts
        if (signal.aborted) return undefined; // to be stopped, which is another turn; or the end
        rejection = this.#judge(entry.pod);
      }
      this.#admit(worker, entry.pod, rejection);
    }
    this.#workers.set(uid, worker);
    return worker;
  }

  /** How long ago the pod was first seen. */
  #waitedSeconds(uid: PodUid): number {
    const { clock, desired } = this.#deps;
    return Math.max(0, clock.now() - (desired.seenMs(uid) ?? clock.now())) / 1000;
  }

  #admit(worker: PodWorker, pod: Pod, rejection: Rejection | undefined): void {
    worker.admit(rejection === undefined ? { type: 'accepted' } : { type: 'rejected', rejection });
    if (rejection === undefined) return;
    this.#deps.metrics?.rejected(rejection.reason);
    this.#deps.event(pod, { type: 'Warning', reason: rejection.reason, message: rejection.message });
  }

  /** One pod that cannot be judged must not take the others along; the kubelet has a reason of its own for this, too. */
  #judge(pod: Pod): Rejection | undefined {
    try {
      return this.#deps.admit(pod, [...this.#admitted()]);
    } catch (error: unknown) {
      this.#deps.log.error({ err: error, pod: formatPod(pod) }, 'pod cannot be judged');
      return { reason: 'UnexpectedAdmissionError', message: errorMessage(error) };
    }
  }

  *#admitted(): Iterable<Pod> {
    for (const [uid, { memory }] of this.#workers) {
      const pod = this.#deps.desired.get(uid)?.pod;
      if (pod !== undefined && memory.admission?.type === 'accepted' && !isTerminalPhase(memory.status?.phase))
        yield pod;
    }
  }
}

function creation(pod: Pod): string {
  return pod.metadata.creationTimestamp ?? '';
}
