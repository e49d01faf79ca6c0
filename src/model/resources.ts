import type { Container, Pod } from './pod.ts';
import { addQuantities, milliOf, parseQuantity, type Quantity, wholeOf } from './quantity.ts';

/** Resource name → quantity, as in `resources.requests`. */
export type ResourceList = ReadonlyMap<string, Quantity>;

export interface PodResources {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly ephemeralBytes: number;
  /** Everything else, whole counts ("nvidia.com/gpu", "hugepages-2Mi" in bytes). */
  readonly extended: Readonly<Record<string, number>>;
}

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

export function podRequests(pod: Pod): PodResources {
  return toPodResources(effectiveRequests(pod));
}

export function podLimits(pod: Pod): PodResources {
  return toPodResources(effectiveLimits(pod));
}

/** What the pod needs as a whole: sum of containers and sidecars, or the largest moment of the init sequence (PodRequests in component-helpers). */
export function effectiveRequests(pod: Pod): ResourceList {
  const total = aggregate(pod, (container) => container.resources?.requests);
  for (const [name, quantity] of podLevel(pod.spec.resources?.requests)) total.set(name, quantity);
  add(total, parseList(pod.spec.overhead));
  return total;
}

/** The same for limits; overhead counts only where a limit exists. */
export function effectiveLimits(pod: Pod): ResourceList {
  const total = aggregate(pod, (container) => container.resources?.limits);
  for (const [name, quantity] of podLevel(pod.spec.resources?.limits)) total.set(name, quantity);
  const overhead = [...parseList(pod.spec.overhead)].filter(([name]) => (total.get(name)?.nano ?? 0n) !== 0n);
  add(total, new Map(overhead));
  return total;
}

/** The memory that the pod as a whole cannot exceed: only a bound when every container has a limit (ResourceConfigForPod). */
export function podMemoryBound(pod: Pod): number | undefined {
  const ownLimit = pod.spec.resources?.limits?.['memory'];
  const everyContainer = allContainers(pod).every((container) => positive(container.resources?.limits?.['memory']));
  if (ownLimit === undefined && !everyContainer) return undefined;
  const bytes = podLimits(pod).memoryBytes;
  return bytes > 0 ? bytes : undefined;
}

/** ComputePodQOS: cpu and memory only, zero quantities count as absent, init containers included. */
export function qosClass(pod: Pod): QosClass {
  const holders = pod.spec.resources === undefined ? allContainers(pod) : [{ resources: pod.spec.resources }];
  const requests = new Map<string, Quantity>();
  const limits = new Map<string, Quantity>();
  let guaranteed = true;
  for (const { resources } of holders) {
    add(requests, qosRelevant(resources?.requests));
    const own = qosRelevant(resources?.limits);
    add(limits, own);
    guaranteed &&= own.size === QOS_RESOURCES.length;
  }
  if (requests.size === 0 && limits.size === 0) return 'BestEffort';
  const equal = [...requests].every(([name, quantity]) => limits.get(name)?.nano === quantity.nano);
  return guaranteed && equal && requests.size === limits.size ? 'Guaranteed' : 'Burstable';
}

const QOS_RESOURCES = ['cpu', 'memory'] as const;

type RawList = Readonly<Record<string, string>> | undefined;

function qosRelevant(list: RawList): Map<string, Quantity> {
  const relevant = new Map<string, Quantity>();
  for (const name of QOS_RESOURCES) {
    const text = list?.[name];
    const quantity = text === undefined ? undefined : parseQuantity(text);
    if (quantity !== undefined && quantity.nano > 0n) relevant.set(name, quantity);
  }
  return relevant;
}

function aggregate(pod: Pod, pick: (container: Container) => RawList): Map<string, Quantity> {
  const total = new Map<string, Quantity>();
  for (const container of pod.spec.containers) add(total, parseList(pick(container)));
  const sidecars = new Map<string, Quantity>();
  const peak = new Map<string, Quantity>();
  for (const container of pod.spec.initContainers ?? []) {
    const own = parseList(pick(container));
    if (container.restartPolicy === 'Always') {
      add(total, own);
      add(sidecars, own);
      raise(peak, sidecars);
    } else {
      add(own, sidecars);
      raise(peak, own);
    }
  }
  raise(total, peak);
  return total;
}

function add(total: Map<string, Quantity>, list: ResourceList): void {
  for (const [name, quantity] of list) {
    const before = total.get(name);
    total.set(name, before === undefined ? quantity : addQuantities(before, quantity));
  }
}

function raise(total: Map<string, Quantity>, list: ResourceList): void {
  for (const [name, quantity] of list) {
    const before = total.get(name);
    if (before === undefined || quantity.nano > before.nano) total.set(name, quantity);
  }
}

function parseList(list: RawList): Map<string, Quantity> {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** Pod-level resources know cpu, memory and hugepages only. */
function podLevel(list: RawList): [string, Quantity][] {
  return [...parseList(list)].filter(([name]) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-'));
}

function toPodResources(list: ResourceList): PodResources {
  const extended: Record<string, number> = {};
  for (const [name, quantity] of list) {
    if (name !== 'cpu' && name !== 'memory' && name !== 'ephemeral-storage') extended[name] = wholeOf(quantity);
  }
  const cpu = list.get('cpu');
  const memory = list.get('memory');
  const ephemeral = list.get('ephemeral-storage');
  return {
    cpuMilli: cpu === undefined ? 0 : milliOf(cpu),
    memoryBytes: memory === undefined ? 0 : wholeOf(memory),
    ephemeralBytes: ephemeral === undefined ? 0 : wholeOf(ephemeral),
    extended,
  };
}

function allContainers(pod: Pod): readonly Container[] {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
}

function positive(text: string | undefined): boolean {
  return text !== undefined && parseQuantity(text).nano > 0n;
}
