import type { ObservedPod, PodUid, PulledImage, RegistryAuth, VolumeSpec } from '../../providers/contract/index.ts';
import type { Container, Pod, PodStatus, Service } from '../model/pod.ts';
import type { ProbeStore } from '../model/stores.ts';
import type { HookStates } from './plan/snapshot.ts';

/** What a worker asks of others. app.ts hands the implementations over (architecture.md, section 2). */

export interface PodEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** `spec.containers{c}` for events of one container (reference 3.1). */
  readonly fieldPath?: string;
}

/** Never waits and never fails: events are best effort (reference 3.2). */
export interface EventSink {
  pod(pod: Pod, event: PodEvent): void;
}

export interface StatusSink {
  /** Latest wins; a status equal to the last acknowledged one is not sent. */
  submit(pod: Pod, status: PodStatus): void;
  /** Resolves when the API server has acknowledged this status, or when the pod is gone there. */
  flush(pod: Pod, status: PodStatus, options: { readonly signal: AbortSignal }): Promise<void>;
  /** DELETE with grace period 0 and the UID as precondition (reference 1.10). Resolves when the object is gone. */
  remove(pod: Pod, options: { readonly signal: AbortSignal }): Promise<void>;
  /** The pod is finished: forget everything kept for this UID. */
  forget(uid: PodUid): void;
}

/** Content or set-up of one volume cannot be had: a FailedMount event, and the container stays ContainerCreating (reference 3.3, 9). */
export class VolumeError extends Error {
  override readonly name = 'VolumeError';
  readonly volume: string;
  /** Failures of other volumes of the same pod, found in the same try: each is told by an event of its own. */
  readonly others: readonly VolumeError[];
  readonly #told: string | undefined;

  constructor(volume: string, message: string, options: VolumeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.volume = volume;
    this.others = options.others ?? [];
    this.#told = options.told;
  }

  /** Text of the FailedMount event. */
  get told(): string {
    return this.#told ?? `MountVolume.SetUp failed for volume "${this.volume}" : ${this.message}`;
  }
}

interface VolumeErrorOptions {
  readonly cause?: unknown;
  readonly others?: readonly VolumeError[];
  /** Where the event has another form than that of a mount that failed. */
  readonly told?: string;
}

export interface VolumeSource {
  /** Everything the pod mounts, content included. Throws VolumeError. */
  resolve(pod: Pod, options: { readonly signal: AbortSignal }): Promise<readonly VolumeSpec[]>;
  /** Milliseconds (clock) at which some content must be looked at again (token renewal), if any. */
  refreshAt(uid: PodUid): number | undefined;
  forget(uid: PodUid): void;
}

export type PullResult =
  | { readonly type: 'present'; readonly image: PulledImage }
  /** `reason` is the waiting reason: ErrImagePull, ImagePullBackOff, ErrImageNeverPull, InvalidImageName… (reference 1.5). */
  | {
      readonly type: 'failed';
      readonly reason: string;
      readonly message: string;
      /**
       * Clock milliseconds from which asking again gives another answer: soon after ErrImagePull (it then reads
       * ImagePullBackOff, as the kubelet's next sync shows it), the end of the back-off while in back-off.
       */
      readonly retryAtMs?: number;
    };

export interface ImageSource {
  /** Applies the pull policy, emits Pulling, Pulled, Failed events (reference 2.5, 3.3). Rejects only when aborted or when the backend is away. */
  ensure(
    pod: Pod,
    container: Container,
    fieldPath: string,
    options: { readonly signal: AbortSignal },
  ): Promise<PullResult>;
  /** Credentials for the pod's images, for a backend that pulls by itself. */
  auth(pod: Pod, options: { readonly signal: AbortSignal }): Promise<readonly RegistryAuth[]>;
}

/** Hooks of containers (reference 2.11). They run beside the turns of the pod; the end of one asks for another turn. */
export interface HookControl {
  /** What has begun, by `name#attempt`. */
  states(uid: PodUid): ReadonlyMap<string, HookStates>;
  /** Begins unless it has begun already. `seconds` is the time that it has; absent: no limit. */
  begin(hook: HookRequest): void;
  /** Ends what runs and forgets the pod. */
  forget(uid: PodUid): void;
}

/** Runs one hook to its end. Rejects with the words of the container's status where it fails (reference 2.11). */
export interface HookRunner {
  run(hook: HookRequest, options: { readonly signal: AbortSignal }): Promise<void>;
}

export interface HookRequest {
  readonly kind: 'postStart' | 'preStop';
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  readonly podIPs: readonly string[];
  readonly seconds?: number;
}

export interface ServiceSource {
  /** undefined until Services have been listed once (reference 10.1). */
  forNamespace(namespace: string): readonly Service[] | undefined;
}

/** Probes of a pod, driven by its worker; a changed result asks for another turn. */
export interface ProbeControl extends ProbeStore {
  /**
   * Tells where the pod stands, at every step of a turn. The first call with a pod whose containers may run starts its probes;
   * later ones follow incarnations, ask a not-ready container's readiness at once, and end what is over (reference 4.2).
   */
  sync(input: ProbeInput): void;
  /**
   * Which incarnations there are: told before the status of a step is computed, so that the first one after a restart of this
   * process already goes by what the API server has (reference 4.8). Starts nothing; `sync` includes it.
   */
  observe(pod: Pod, observed: ObservedPod | undefined): void;
  /** Ends all probes of the pod and forgets their results. */
  forget(uid: PodUid): void;
}

export interface ProbeInput {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  /** Computed in this step, from the results so far. */
  readonly status: PodStatus;
  /** The pod is being stopped: liveness and startup end as successful, readiness goes on (reference 4.2.6). */
  readonly stopping: boolean;
}

/** Told of what happens to pods, for metrics (reference 14.2). All times are in seconds. */
export interface PodObserver {
  turn(operation: 'create' | 'update' | 'sync' | 'kill' | 'terminated', seconds: number, failed: boolean): void;
  workerStarted(seconds: number, containers: number): void;
  orphanFound(): void;
  rejected(reason: string): void;
  podRunning(start: { readonly sinceSeen: number; readonly sinceCreated: number; readonly pulling: number }): void;
  sandboxMade(ok: boolean): void;
  containerStarted(type: string, code?: string): void;
  containerEnded(type: string, exitCode: number, reason: string): void;
}
