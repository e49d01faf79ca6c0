import type { HostReport } from '../../providers/contract/index.ts';
import type { NodeConfig } from '../config/config.ts';
import type { NewNode, NodeMetadataPatch, NodeStatus } from '../kube/nodes.ts';
import type { Node } from '../model/pod.ts';
import { hostLabels } from './report.ts';

/** The attach/detach controller, not we, attaches volumes (reference 5.2). */
const ATTACH_ANNOTATION = 'volumes.kubernetes.io/controller-managed-attach-detach';

/** Those that registration puts right on an existing Node; all others belong to whoever edits it (reference 5.1). */
const RECONCILED_LABELS: readonly string[] = [
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
];
const MACHINE_LABELS: readonly string[] = RECONCILED_LABELS.slice(1, 5);

export type RegistrationSettings = Pick<NodeConfig, 'name' | 'labels' | 'taints' | 'podCidr' | 'providerId'>;

/** The Node as it is created. Taints and podCIDR are set only here: an existing Node keeps its own. */
export function newNode(settings: RegistrationSettings, host: HostReport | undefined, status: NodeStatus): NewNode {
  const { name, taints, podCidr, providerId } = settings;
  return {
    metadata: {
      name,
      labels: wantedLabels(settings, host),
      annotations: { [ATTACH_ANNOTATION]: 'true' },
    },
    spec: {
      ...(podCidr !== undefined && { podCIDR: podCidr, podCIDRs: [podCidr] }),
      ...(providerId !== undefined && { providerID: providerId }),
      ...(taints.length > 0 && { taints: taints.map((taint) => ({ ...taint })) }),
    },
    status,
  };
}

/** What has to change on a Node that was there before this process; undefined when nothing has. */
export function reconciledMetadata(
  existing: Node,
  settings: RegistrationSettings,
  host: HostReport | undefined,
): NodeMetadataPatch | undefined {
  const labels = Object.entries(wantedLabels(settings, host)).filter(
    ([key, value]) => RECONCILED_LABELS.includes(key) && existing.metadata.labels?.[key] !== value,
  );
  const annotated = existing.metadata.annotations?.[ATTACH_ANNOTATION] === 'true';
  if (labels.length === 0 && annotated) return undefined;
  return {
    ...(labels.length > 0 && { labels: Object.fromEntries(labels) }),
    ...(!annotated && { annotations: { [ATTACH_ANNOTATION]: 'true' } }),
  };
}

/** Between registrations only os and arch come back when somebody removed them (reference 5.2). */
export function missingLabels(
  existing: Node,
  settings: RegistrationSettings,
  host: HostReport | undefined,
): NodeMetadataPatch | undefined {
  const missing = Object.entries(wantedLabels(settings, host)).filter(
    ([key]) => MACHINE_LABELS.includes(key) && existing.metadata.labels?.[key] === undefined,
  );
  return missing.length === 0 ? undefined : { labels: Object.fromEntries(missing) };
}

function wantedLabels({ name, labels }: RegistrationSettings, host: HostReport | undefined): Record<string, string> {
  return { ...hostLabels(name, host), ...labels };
}
