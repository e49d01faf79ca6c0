import type { Violation } from '../../providers/contract/index.ts';
import type { Rejection } from '../model/intent.ts';
import type { Pod } from '../model/pod.ts';
import { type PodResources, podRequests } from '../model/resources.ts';
import type { NodeFacts } from '../model/stores.ts';
import { forbiddenSysctl } from '../spec/sysctls.ts';
import { hostPortTaken, matchesNode, toleratesNode } from './node-fit.ts';

export interface AdmitInput {
  readonly pod: Pod;
  /** Admitted pods of the node that have not ended, without `pod` itself. */
  readonly others: readonly Pod[];
  readonly facts: NodeFacts;
  /** What the provider's `validate` says. */
  readonly violations: readonly Violation[];
  /** First field that Outrigger itself does not support yet. */
  readonly unsupported?: { readonly path: string; readonly why: string } | undefined;
}

/**
 * Whether the pod may run here; the first refusal wins (reference 6.1). The message is that of the event, the status puts
 * "Pod was rejected: " in front (reference 6.3).
 */
export function admit({ pod, others, facts, violations, unsupported }: AdmitInput): Rejection | undefined {
  const [violation] = violations;
  const sysctl = forbiddenSysctl(pod);
  return (
    (sysctl === undefined ? undefined : { reason: 'SysctlForbidden', message: sysctl }) ??
    checkPlatform(pod, facts) ??
    checkResources(pod, others, facts) ??
    checkNode(pod, others, facts) ??
    (unsupported && { reason: 'ProviderUnsupported', message: `${unsupported.path}: ${unsupported.why}` }) ??
    (violation && { reason: violation.reason, message: violation.message })
  );
}

/** Before the fit check, as room on the node would not help. */
function checkPlatform({ metadata, spec }: Pod, { os }: NodeFacts): Rejection | undefined {
  const label = metadata.labels?.['kubernetes.io/os'];
  if (label !== undefined && label !== os) {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  }
  if (spec.os !== undefined && spec.os.name !== os) {
    return { reason: 'PodOSNotSupported', message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  if (spec.securityContext?.supplementalGroupsPolicy === 'Strict') {
    return {
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    };
  }
  return undefined;
}

function checkResources(pod: Pod, others: readonly Pod[], { allocatable }: NodeFacts): Rejection | undefined {
  if (others.length + 1 > allocatable.pods) return outOf('pods', 1, others.length, allocatable.pods);
  const wanted = podRequests(pod);
  const taken = others.map(podRequests);
  const needs: readonly [string, number | undefined, (resources: PodResources) => number][] = [
    ['cpu', allocatable.cpuMilli, (resources) => resources.cpuMilli],
    ['memory', allocatable.memoryBytes, (resources) => resources.memoryBytes],
    ['ephemeral-storage', allocatable.ephemeralBytes, (resources) => resources.ephemeralBytes],
    // Extended resources that the node does not know belong to the cluster and are not the kubelet's to check (reference 6.2).
    ...Object.keys(wanted.extended)
      .filter((name) => !isExtended(name))
      .map((name): [string, number, (resources: PodResources) => number] => [
        name,
        0,
        (resources) => resources.extended[name] ?? 0,
      ]),
  ];
  for (const [name, capacity, pick] of needs) {
    // A backend that does not know its room (ephemeral storage of a fleet) is not asked.
    if (capacity === undefined) continue;
    const requested = pick(wanted);
    const used = taken.reduce((sum, resources) => sum + pick(resources), 0);
    if (requested > 0 && requested > capacity - used) return outOf(name, requested, used, capacity);
  }
  return undefined;
}

/** Named after a vendor's domain; what has none (hugepages) is the node's own. */
function isExtended(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

/** CPU counts in thousandths, everything else in units and bytes. */
function outOf(resource: string, requested: number, used: number, capacity: number): Rejection {
  return {
    reason: `OutOf${resource}`,
    message: `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  };
}

function checkNode(pod: Pod, others: readonly Pod[], facts: NodeFacts): Rejection | undefined {
  if (!matchesNode(pod, facts)) return failed('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  if (pod.spec.nodeName && pod.spec.nodeName !== facts.nodeName) {
    return failed('NodeName', "node(s) didn't match the requested node name");
  }
  if (hostPortTaken(pod, others)) {
    return failed('NodePorts', "node(s) didn't have free ports for the requested pod ports");
  }
  if (!toleratesNode(pod, facts)) return failed('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  return undefined;
}

function failed(predicate: string, why: string): Rejection {
  return { reason: predicate, message: `Predicate ${predicate} failed: ${why}` };
}
