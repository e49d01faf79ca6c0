import type { HostReport } from '../../providers/contract/index.ts';
import type { NodeConfig } from '../config/config.ts';
import type { NodeStatus } from '../kube/nodes.ts';
import { formatBytes, formatMilli, quantityToBytes, quantityToMilli } from '../model/quantity.ts';
import type { NodeFacts } from '../model/stores.ts';
import { KUBERNETES_VERSION } from '../model/version.ts';
import type { HostSource } from './ports.ts';

const DEFAULT_MAX_PODS = 110;
const NAMES_PER_IMAGE = 5;

function kubeletVersion(productVersion: string): string {
  return `${KUBERNETES_VERSION}-outrigger-${productVersion}`;
}

export type ReportSettings = Pick<NodeConfig, 'name' | 'nodeIPs' | 'maxPods' | 'podsPerCore' | 'reserved'>;

export interface ListedImage {
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

type Quantities = Readonly<Record<string, string>>;

/** Labels that follow from the machine (reference 5.2). */
export function hostLabels(name: string, host: HostReport | undefined): Record<string, string> {
  return {
    'kubernetes.io/hostname': name,
    ...(host !== undefined && {
      'kubernetes.io/os': host.os,
      'kubernetes.io/arch': host.arch,
      'beta.kubernetes.io/os': host.os,
      'beta.kubernetes.io/arch': host.arch,
    }),
  };
}

/** Resources that others put on the node (extended ones, by a status patch) stay. */
export function capacity(host: HostReport, settings: ReportSettings, existing: Quantities = {}): Quantities {
  const { cpuMilli, memoryBytes, ephemeralBytes, extended = {} } = host.capacity;
  return {
    ...existing,
    cpu: formatMilli(cpuMilli),
    memory: formatBytes(memoryBytes),
    ...(ephemeralBytes !== undefined && { 'ephemeral-storage': formatBytes(ephemeralBytes) }),
    ...Object.fromEntries(Object.entries(extended).map(([name, count]) => [name, String(count)])),
    pods: String(maxPods(host, settings)),
  };
}

/** Capacity less what is reserved, never below zero; memory also less huge pages; pods unreduced (reference 5.5). */
export function allocatable(total: Quantities, { reserved }: Pick<ReportSettings, 'reserved'>): Quantities {
  const result: Record<string, string> = { ...total };
  const hugePages = Object.entries(total)
    .filter(([name]) => name.startsWith('hugepages-'))
    .reduce((sum, [, amount]) => sum + quantityToBytes(amount), 0);
  if (total['cpu'] !== undefined) {
    result['cpu'] = formatMilli(Math.max(0, quantityToMilli(total['cpu']) - reserved.cpuMilli));
  }
  if (total['memory'] !== undefined) {
    result['memory'] = formatBytes(Math.max(0, quantityToBytes(total['memory']) - reserved.memoryBytes - hugePages));
  }
  const storage = total['ephemeral-storage'];
  if (storage !== undefined && reserved.ephemeralBytes > 0) {
    result['ephemeral-storage'] = formatBytes(Math.max(0, quantityToBytes(storage) - reserved.ephemeralBytes));
  }
  return result;
}

/** InternalIP, second InternalIP, Hostname (reference 5.4). Undefined while nobody said which address the node has. */
export function addresses(
  { name, nodeIPs }: ReportSettings,
  host: HostReport | undefined,
): NonNullable<NodeStatus['addresses']> | undefined {
  if (nodeIPs.length === 0 && host === undefined) return undefined;
  const reported = host?.addresses.filter(({ type }) => type !== 'Hostname') ?? [];
  const own = nodeIPs.map((address) => ({ type: 'InternalIP', address }));
  const external = reported.filter(({ type }) => type === 'ExternalIP');
  return [...(own.length > 0 ? [...own, ...external] : reported), { type: 'Hostname', address: name }].map(
    ({ type, address }) => ({ type, address }),
  );
}

export function nodeInfo(host: HostReport, productVersion: string): NonNullable<NodeStatus['nodeInfo']> {
  return {
    machineID: host.machineId ?? '',
    systemUUID: host.systemUuid ?? '',
    bootID: host.bootId ?? '',
    kernelVersion: host.kernelVersion ?? '',
    osImage: host.osImage ?? '',
    containerRuntimeVersion: `${host.runtimeName}://${host.runtimeVersion}`,
    kubeletVersion: kubeletVersion(productVersion),
    kubeProxyVersion: '',
    operatingSystem: host.os,
    architecture: host.arch,
  };
}

/**
 * What the API server may count on (reference 5.9), sorted. With ExtendWebSocketsToKubelet it hands WebSockets on as they are,
 * instead of translating them; without it everything works too, at a price.
 */
export function declaredFeatures({
  exec,
  attach,
  dial,
}: Pick<HostSource, 'exec' | 'attach' | 'dial'>): readonly string[] {
  const streams = exec !== undefined && attach !== undefined && dial !== undefined;
  return streams ? ['ExtendWebSocketsToKubelet'] : [];
}

/** Biggest first, digests before tags, at most five names each (reference 5.6); `max` -1 is all. */
export function nodeImages(images: readonly ListedImage[], max: number): NonNullable<NodeStatus['images']> {
  const sorted = images
    .filter(({ names }) => names.length > 0)
    .map(({ names, sizeBytes }) => ({ names: digestsFirst(names).slice(0, NAMES_PER_IMAGE), sizeBytes }))
    .sort((a, b) => b.sizeBytes - a.sizeBytes || compare(a.names[0], b.names[0]));
  return max < 0 ? sorted : sorted.slice(0, max);
}

/** For admission and the pods' own environment. `podCidr` only once it is known to be ours. */
export function nodeFacts(
  settings: ReportSettings,
  host: HostReport,
  node: { readonly labels: NodeFacts['labels']; readonly taints: NodeFacts['taints'] },
  podCidr: string | undefined,
): NodeFacts {
  const left = (total: number, reserved: number): number => Math.max(0, total - reserved);
  const { cpuMilli, memoryBytes, ephemeralBytes } = host.capacity;
  const known = addresses(settings, host) ?? [];
  const internal = known.filter(({ type }) => type === 'InternalIP');
  const hostIPs = internal.length > 0 ? internal : known.filter(({ type }) => type === 'ExternalIP');
  return {
    nodeName: settings.name,
    hostIPs: hostIPs.map(({ address }) => address),
    ...(podCidr !== undefined && { podCidr }),
    ...(host.resolvConf !== undefined && { resolvConf: host.resolvConf }),
    runtimeName: host.runtimeName,
    os: host.os,
    arch: host.arch,
    labels: node.labels,
    taints: node.taints,
    allocatable: {
      cpuMilli: left(cpuMilli, settings.reserved.cpuMilli),
      memoryBytes: left(memoryBytes, settings.reserved.memoryBytes),
      ...(ephemeralBytes !== undefined && { ephemeralBytes: left(ephemeralBytes, settings.reserved.ephemeralBytes) }),
      pods: maxPods(host, settings),
    },
  };
}

function maxPods(host: HostReport, settings: ReportSettings): number {
  const max = settings.maxPods ?? Math.min(host.capacity.pods, DEFAULT_MAX_PODS);
  const cores = Math.ceil(host.capacity.cpuMilli / 1000);
  return settings.podsPerCore > 0 ? Math.min(settings.podsPerCore * cores, max) : max;
}

function digestsFirst(names: readonly string[]): string[] {
  const sorted = [...names].sort(compare);
  return [...sorted.filter((name) => name.includes('@')), ...sorted.filter((name) => !name.includes('@'))];
}

/** By code unit: the same on every machine. */
function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
