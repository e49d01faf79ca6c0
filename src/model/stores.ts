import type { ObservedPod, PodUid } from '../../providers/contract/index.ts';
import type { StopIntent } from './intent.ts';
import type { Pod } from './pod.ts';

/** Read sides. Each store has one writer (architecture.md, section 3); who changes one says only "look at this UID again". */
export interface DesiredPod {
  readonly pod: Pod;
  readonly stop?: StopIntent;
}

export interface DesiredStore {
  get(uid: PodUid): DesiredPod | undefined;
  all(): Iterable<DesiredPod>;
  /** Clock milliseconds at which the pod was first seen. */
  seenMs(uid: PodUid): number | undefined;
}

export interface ObservedStore {
  /** `undefined` inside the entry: the backend was asked and knows nothing of the pod. No entry: not asked yet. */
  get(uid: PodUid): ObservedEntry | undefined;
  all(): Iterable<ObservedPod>;
}

export interface ObservedEntry {
  readonly pod: ObservedPod | undefined;
  /** Number of the question that this answers; later questions have higher numbers. */
  readonly at: number;
}

/** Facts of the node that a pod needs; owned by node/, absent until the backend has answered once. */
export interface NodeFacts {
  readonly nodeName: string;
  /** One or two addresses, primary family first. */
  readonly hostIPs: readonly string[];
  /** The pod network, from --pod-cidr or spec.podCIDR. */
  readonly podCidr?: string;
  /** Text of the node's resolv.conf, where the backend tells it. */
  readonly resolvConf?: string;
  readonly runtimeName: string;
  readonly os: string;
  readonly arch: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  readonly allocatable: {
    readonly cpuMilli: number;
    readonly memoryBytes: number;
    readonly ephemeralBytes?: number;
    readonly pods: number;
  };
}

/** What the probes say about one incarnation of a container (reference 4.7). One writer: the prober. */
export interface ProbeStore {
  /** True without a startup probe. Only asked about running containers. */
  started(uid: PodUid, container: string, attempt: number): boolean;
  /** What the readiness probe says; true without one. Whether the container has started at all is asked apart. */
  ready(uid: PodUid, container: string, attempt: number): boolean;
  /** Liveness or startup has failed so often that the container is to be killed; undefined otherwise. */
  failure(uid: PodUid, container: string, attempt: number): ProbeFailure | undefined;
}

export interface ProbeFailure {
  readonly probe: 'liveness' | 'startup';
  /** The probe's own terminationGracePeriodSeconds, if it has one (reference 4.9). */
  readonly graceSeconds?: number;
}
