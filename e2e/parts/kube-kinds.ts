import type {
  CoreV1Event,
  V1APIService,
  V1CertificateSigningRequest,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1ConfigMap,
  V1CronJob,
  V1DaemonSet,
  V1Deployment,
  V1EndpointSlice,
  V1Job,
  V1Lease,
  V1Namespace,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1ReplicaSet,
  V1Role,
  V1RoleBinding,
  V1Secret,
  V1Service,
  V1ServiceAccount,
  V1StatefulSet,
  V2HorizontalPodAutoscaler,
} from '@kubernetes/client-node';
import type { Json } from '../../src/model/pod.ts';

/** As the API server sends it: every stored object has these. */
export type Stored<T> = Omit<Json<T>, 'metadata'> & {
  metadata: NonNullable<Json<V1Pod>['metadata']> & { name: string; uid: string; resourceVersion: string };
};

export interface Kinds {
  APIService: V1APIService;
  CertificateSigningRequest: V1CertificateSigningRequest;
  ClusterRole: V1ClusterRole;
  ClusterRoleBinding: V1ClusterRoleBinding;
  ConfigMap: V1ConfigMap;
  CronJob: V1CronJob;
  DaemonSet: V1DaemonSet;
  Deployment: V1Deployment;
  EndpointSlice: V1EndpointSlice;
  Event: CoreV1Event;
  HorizontalPodAutoscaler: V2HorizontalPodAutoscaler;
  Job: V1Job;
  Lease: V1Lease;
  Namespace: V1Namespace;
  Node: V1Node;
  PersistentVolume: V1PersistentVolume;
  PersistentVolumeClaim: V1PersistentVolumeClaim;
  Pod: V1Pod;
  ReplicaSet: V1ReplicaSet;
  Role: V1Role;
  RoleBinding: V1RoleBinding;
  Secret: V1Secret;
  Service: V1Service;
  ServiceAccount: V1ServiceAccount;
  StatefulSet: V1StatefulSet;
}

export type Kind = keyof Kinds;

interface Resource {
  readonly apiVersion: string;
  readonly plural: string;
  readonly clusterWide?: true;
}

export const RESOURCES: Record<Kind, Resource> = {
  APIService: { apiVersion: 'apiregistration.k8s.io/v1', plural: 'apiservices', clusterWide: true },
  CertificateSigningRequest: {
    apiVersion: 'certificates.k8s.io/v1',
    plural: 'certificatesigningrequests',
    clusterWide: true,
  },
  ClusterRole: { apiVersion: 'rbac.authorization.k8s.io/v1', plural: 'clusterroles', clusterWide: true },
  ClusterRoleBinding: { apiVersion: 'rbac.authorization.k8s.io/v1', plural: 'clusterrolebindings', clusterWide: true },
  ConfigMap: { apiVersion: 'v1', plural: 'configmaps' },
  CronJob: { apiVersion: 'batch/v1', plural: 'cronjobs' },
  DaemonSet: { apiVersion: 'apps/v1', plural: 'daemonsets' },
  Deployment: { apiVersion: 'apps/v1', plural: 'deployments' },
  EndpointSlice: { apiVersion: 'discovery.k8s.io/v1', plural: 'endpointslices' },
  Event: { apiVersion: 'v1', plural: 'events' },
  HorizontalPodAutoscaler: { apiVersion: 'autoscaling/v2', plural: 'horizontalpodautoscalers' },
  Job: { apiVersion: 'batch/v1', plural: 'jobs' },
  Lease: { apiVersion: 'coordination.k8s.io/v1', plural: 'leases' },
  Namespace: { apiVersion: 'v1', plural: 'namespaces', clusterWide: true },
  Node: { apiVersion: 'v1', plural: 'nodes', clusterWide: true },
  PersistentVolume: { apiVersion: 'v1', plural: 'persistentvolumes', clusterWide: true },
  PersistentVolumeClaim: { apiVersion: 'v1', plural: 'persistentvolumeclaims' },
  Pod: { apiVersion: 'v1', plural: 'pods' },
  ReplicaSet: { apiVersion: 'apps/v1', plural: 'replicasets' },
  Role: { apiVersion: 'rbac.authorization.k8s.io/v1', plural: 'roles' },
  RoleBinding: { apiVersion: 'rbac.authorization.k8s.io/v1', plural: 'rolebindings' },
  Secret: { apiVersion: 'v1', plural: 'secrets' },
  Service: { apiVersion: 'v1', plural: 'services' },
  ServiceAccount: { apiVersion: 'v1', plural: 'serviceaccounts' },
  StatefulSet: { apiVersion: 'apps/v1', plural: 'statefulsets' },
};

export function isKind(kind: string | undefined): kind is Kind {
  return kind !== undefined && Object.hasOwn(RESOURCES, kind);
}

/** `/api/v1/namespaces/NS/pods/NAME`; without a namespace the path over all namespaces. */
export function resourcePath(kind: Kind, namespace?: string, name?: string, subresource?: string): string {
  const { apiVersion, plural, clusterWide } = RESOURCES[kind];
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = clusterWide || namespace === undefined ? '' : `/namespaces/${namespace}`;
  return [`${root}${scope}/${plural}`, name, subresource].filter((part) => part !== undefined).join('/');
}
