import type {
  V1ConfigMap,
  V1Container,
  V1ContainerStatus,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodCondition,
  V1PodStatus,
  V1Secret,
  V1Service,
} from '@kubernetes/client-node';
import type { PodUid } from '../../providers/contract/index.ts';

/**
 * What the API server really sends: dates are RFC 3339 texts. The model classes of the client library say Date, which is true
 * only of objects that went through its own deserializer; ours do not (they would lose fields that the library does not know).
 */
export type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? { [K in keyof T]: Json<T[K]> }
      : T;

type Named<T> = Omit<Json<T>, 'metadata'> & {
  metadata: NonNullable<Json<V1Pod>['metadata']> & { name: string; uid: string; resourceVersion?: string };
};

export type Pod = Omit<Named<V1Pod>, 'spec' | 'metadata'> & {
  metadata: Named<V1Pod>['metadata'] & { namespace: string };
  spec: NonNullable<Json<V1Pod>['spec']>;
};
export type PodStatus = Json<V1PodStatus>;
export type PodCondition = Json<V1PodCondition>;
export type ContainerStatus = Json<V1ContainerStatus>;
export type Container = Json<V1Container>;
export type Node = Named<V1Node>;
export type ConfigMap = Named<V1ConfigMap>;
export type Secret = Named<V1Secret>;
export type Service = Named<V1Service>;
export type PersistentVolume = Named<V1PersistentVolume>;
export type PersistentVolumeClaim = Named<V1PersistentVolumeClaim>;

export function podUid(pod: Pod): PodUid {
  // The edge where the API server's text becomes the brand.
  return pod.metadata.uid as PodUid;
}

/** `name_namespace(uid)`, the form that the kubelet uses in messages (reference, head of the page). */
export function formatPod(pod: Pod): string {
  return `${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})`;
}

export function isTerminalPhase(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

export type RestartPolicy = 'Always' | 'OnFailure' | 'Never';

/** The API server always fills it; the fallback is the API's own default. */
export function restartPolicy(pod: Pod): RestartPolicy {
  const policy = pod.spec.restartPolicy;
  return policy === 'OnFailure' || policy === 'Never' ? policy : 'Always';
}

/** Also filled by the API server; 30 is the API's default. */
export function graceSeconds(pod: Pod): number {
  return pod.spec.terminationGracePeriodSeconds ?? 30;
}

/** Seconds precision, as every time in a pod status (reference 1.3). */
export function toTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** How the API server prints a time that was never set (`lastProbeTime`, `startedAt` of a lost container); the library's types do not know it. */
export const NO_TIME = null as unknown as string;
