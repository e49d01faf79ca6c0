import type { Pod } from '../model/pod.ts';
import { isSidecar } from '../model/restart.ts';
import type { NodeFacts } from '../model/stores.ts';

/** The scheduler's checks of one pod against one node that the kubelet repeats (reference 6.2). */

type NodeSelectorTerm = NonNullable<
  NonNullable<NonNullable<Pod['spec']['affinity']>['nodeAffinity']>['requiredDuringSchedulingIgnoredDuringExecution']
>['nodeSelectorTerms'][number];
type Requirement = NonNullable<NodeSelectorTerm['matchExpressions']>[number];
type Taint = NodeFacts['taints'][number];
type Toleration = NonNullable<Pod['spec']['tolerations']>[number];

/** `nodeSelector` and required node affinity; both have to hold. */
export function matchesNode({ spec }: Pod, { nodeName, labels }: NodeFacts): boolean {
  const selected = Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!selected || required === undefined) return selected;
  const fields = { 'metadata.name': nodeName };
  return required.nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    // A term without any requirement matches nothing.
    if (matchExpressions.length + matchFields.length === 0) return false;
    return (
      matchExpressions.every((requirement) => holds(requirement, labels)) &&
      matchFields.every((requirement) => holds(requirement, fields))
    );
  });
}

function holds({ key, operator, values = [] }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt': {
      const [bound] = values;
      if (value === undefined || bound === undefined || values.length > 1) return false;
      if (!INTEGER.test(value) || !INTEGER.test(bound)) return false;
      return operator === 'Gt' ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
    }
    default:
      return false;
  }
}

const INTEGER = /^-?\d+$/;

/** Only NoExecute taints concern the kubelet; the others are the scheduler's. */
export function toleratesNode({ spec }: Pod, { taints }: NodeFacts): boolean {
  return taints
    .filter(({ effect }) => effect === 'NoExecute')
    .every((taint) => (spec.tolerations ?? []).some((toleration) => tolerates(toleration, taint)));
}

function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (operator || 'Equal') === 'Equal' && (value ?? '') === (taint.value ?? '');
}

/** Whether a host port of the pod is taken by one of the others. */
export function hostPortTaken(pod: Pod, others: readonly Pod[]): boolean {
  const taken = others.flatMap(hostPorts);
  return hostPorts(pod).some((wanted) =>
    taken.some(
      (used) =>
        used.port === wanted.port &&
        used.protocol === wanted.protocol &&
        (used.ip === wanted.ip || used.ip === ANY_IP || wanted.ip === ANY_IP),
    ),
  );
}

const ANY_IP = '0.0.0.0';

interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** Of the containers that run as long as the pod does. On the host network every container port is a host port by API defaulting. */
function hostPorts({ spec }: Pod): HostPort[] {
  return [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers]
    .flatMap(({ ports = [] }) => ports)
    .flatMap(({ hostPort = 0, hostIP, protocol }) =>
      hostPort > 0 ? [{ ip: hostIP || ANY_IP, protocol: protocol ?? 'TCP', port: hostPort }] : [],
    );
}
