import type { Container, Pod } from '../model/pod.ts';
import { milliOf, parseQuantity, wholeOf } from '../model/quantity.ts';

export interface ResourceFieldSelector {
  readonly resource: string;
  /** Required in volumes; in env it means the container itself when absent. */
  readonly containerName?: string;
  readonly divisor?: string;
}

/** What a container without a limit may use at most: the node's allocatable amounts. */
export interface Allocatable {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly ephemeralBytes?: number;
}

const FIELD = /^(requests|limits)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/;

/** A request or limit as a whole number of divisors, rounded up (ExtractContainerResourceValue, reference 10.4). */
export function resourceField(
  { resource, divisor = '0' }: ResourceFieldSelector,
  { resources }: Pick<Container, 'resources'>,
  allocatable: Allocatable | undefined,
): string {
  const [, list, name = ''] = FIELD.exec(resource) ?? [];
  if (list !== 'requests' && list !== 'limits') throw new Error(`unsupported container resource : ${resource}`);
  // No divisor and a divisor of zero both mean one.
  const unit = parseQuantity(parseQuantity(divisor).nano === 0n ? '1' : divisor);
  const count = name === 'cpu' ? milliOf : wholeOf;
  const own = parseQuantity(resources?.[list]?.[name] ?? '0');
  const value = own.nano === 0n && list === 'limits' ? allocatableOf(name, allocatable) : count(own);
  return String(Math.ceil(value / count(unit)));
}

/**
 * What stands for limits that a container does not set: those of the pod as a whole before what the node can give
 * (defaultPodLimitsForDownwardAPI); the pod has them for cpu and memory.
 */
export function defaultLimits({ spec }: Pod, node: Allocatable): Allocatable {
  const limits = spec.resources?.limits ?? {};
  const cpuMilli = milliOf(parseQuantity(limits['cpu'] ?? '0'));
  const memoryBytes = wholeOf(parseQuantity(limits['memory'] ?? '0'));
  return { ...node, ...(cpuMilli > 0 && { cpuMilli }), ...(memoryBytes > 0 && { memoryBytes }) };
}

/** The container that a selector names, init containers included; throws with the kubelet's text. */
export function selectedContainer({ spec }: Pod, name: string): Container {
  const found = [...spec.containers, ...(spec.initContainers ?? [])].find((container) => container.name === name);
  if (found === undefined) throw new Error(`container ${name} not found`);
  return found;
}

/** Huge pages are never overcommitted: without a limit there are none (MergeContainerResourceLimits). */
function allocatableOf(name: string, allocatable: Allocatable | undefined): number {
  if (allocatable === undefined) return 0;
  if (name === 'cpu') return allocatable.cpuMilli;
  if (name === 'memory') return allocatable.memoryBytes;
  return name === 'ephemeral-storage' ? (allocatable.ephemeralBytes ?? 0) : 0;
}

export function isResourceField(resource: string): boolean {
  return FIELD.test(resource);
}
