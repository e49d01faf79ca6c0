import type { ProviderTraits } from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';
import { CONTAINERS, EPHEMERAL_CONTAINERS, INIT_CONTAINERS } from './unsupported-container.ts';
import {
  each,
  fields,
  notYet,
  oneOf,
  provided,
  type Rule,
  supported,
  type Unsupported,
  unless,
} from './unsupported-rules.ts';
import { POD_SECURITY } from './unsupported-security.ts';
import { firstUnsupportedSubPath, VOLUME } from './unsupported-volume.ts';

/**
 * The first field of a pod that would not get what it asks for here: neither this version nor, by its traits, the provider can.
 * The tables are allowlists: what they do not name is refused. What the API server fills in by itself never is.
 */
export function firstUnsupported(pod: Pod, traits: ProviderTraits): Unsupported | undefined {
  return POD_SPEC(pod.spec, 'spec', traits) ?? firstUnsupportedSubPath(pod, traits);
}

const graceSeconds: Rule = (value, path, { maxGraceSeconds }) =>
  typeof value === 'number' && maxGraceSeconds !== undefined && value > maxGraceSeconds
    ? { path, why: `the provider cannot wait longer than ${maxGraceSeconds} s` }
    : undefined;

const POD_SPEC = fields<Pod['spec']>({
  containers: CONTAINERS,
  initContainers: INIT_CONTAINERS,
  ephemeralContainers: EPHEMERAL_CONTAINERS,
  volumes: each(VOLUME),
  securityContext: POD_SECURITY,
  restartPolicy: supported,
  terminationGracePeriodSeconds: graceSeconds,
  activeDeadlineSeconds: supported,
  hostname: supported,
  subdomain: supported,
  hostnameOverride: supported,
  setHostnameAsFQDN: supported,
  hostAliases: each(fields<NonNullable<Pod['spec']['hostAliases']>[number]>({ ip: supported, hostnames: supported })),
  dnsPolicy: oneOf(['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None']),
  dnsConfig: fields<NonNullable<Pod['spec']['dnsConfig']>>({
    nameservers: supported,
    searches: supported,
    options: supported,
  }),
  hostNetwork: unless(
    [false],
    provided(({ network }) => network.hostNetwork, 'put pods on the network of its host'),
  ),
  hostPID: unless(
    [false],
    provided(({ hostPid }) => hostPid, 'show the processes of its host'),
  ),
  hostIPC: unless(
    [false],
    provided(({ hostIpc }) => hostIpc, 'share the IPC of its host'),
  ),
  hostUsers: oneOf([true]),
  shareProcessNamespace: unless(
    [false],
    provided(({ sharePidNamespace }) => sharePidNamespace, 'share processes between containers'),
  ),
  runtimeClassName: provided(({ runtimeHandlers }) => runtimeHandlers, 'choose a runtime'),
  overhead: notYet('overhead is'),
  resources: notYet('resources of the pod as a whole are'),
  resourceClaims: notYet('resource claims are'),
  // Compared with the node's at admission.
  os: supported,
  enableServiceLinks: supported,
  imagePullSecrets: supported,
  serviceAccount: supported,
  serviceAccountName: supported,
  automountServiceAccountToken: supported,
  // Conditions that others write; status/ combines them.
  readinessGates: supported,
  // The scheduler's and other controllers' affair; node affinity is checked by admission.
  nodeName: supported,
  nodeSelector: supported,
  affinity: supported,
  tolerations: supported,
  topologySpreadConstraints: supported,
  schedulerName: supported,
  schedulingGates: supported,
  priority: supported,
  priorityClassName: supported,
  preemptionPolicy: supported,
});
