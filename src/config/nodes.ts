import { dirname, resolve } from 'node:path';
import { UsageError } from '../util/errors.ts';
import { certDir, servingConfig } from './certificates.ts';
import type { NodeConfig, ReservedResources, Taint } from './config.ts';
import { parseProviderConfig } from './documents.ts';
import { given, read } from './environment.ts';
import { checkDomain } from './labels.ts';
import type { NodeEntry } from './schema.ts';
import type { NodeSources } from './sources.ts';

/** Labels that every node of ours carries from its creation on, unless taken away (`key-`, or null in the file). */
const DEFAULT_LABELS: Readonly<Record<string, string>> = {
  type: 'virtual-kubelet',
  // A cloud's load balancer would send traffic to a machine that it does not know.
  'node.kubernetes.io/exclude-from-external-load-balancers': '',
};

/** One NodeConfig per entry of OutriggerConfiguration, or the single one that the flags describe. Flags beat entries beat KubeletConfiguration. */
export async function buildNodes(sources: NodeSources): Promise<NodeConfig[]> {
  const entries: readonly NodeEntry[] = sources.file.outrigger?.nodes ?? [
    { name: ownName(sources), provider: sources.flags.provider ?? 'docker' },
  ];
  const nodes: NodeConfig[] = [];
  for (const entry of entries) nodes.push(await buildNode(entry, entries.length === 1, sources));
  return nodes;
}

/** As the kubelet: the host name in lower case. */
function ownName({ flags, environment }: NodeSources): string {
  const name = flags['hostname-override'] ?? environment.hostname.trim().toLowerCase();
  const complaint = checkDomain(name);
  if (complaint !== undefined)
    throw new UsageError(`--hostname-override: the host name ${JSON.stringify(name)} ${complaint}`);
  return name;
}

async function buildNode(entry: NodeEntry, alone: boolean, sources: NodeSources): Promise<NodeConfig> {
  const { kubelet, flags } = sources;
  const provider = flags.provider ?? entry.provider;
  const podCidr = flags['pod-cidr'] ?? entry.podCIDR ?? kubelet.podCIDR;
  const providerId = flags['provider-id'] ?? entry.providerID ?? kubelet.providerID;
  const maxPods = flags['max-pods'] ?? entry.maxPods ?? kubelet.maxPods;
  const clientCaFile = kubelet.authentication?.x509?.clientCAFile;
  const name = flags['hostname-override'] ?? entry.name;
  return {
    name,
    provider,
    providerConfig: await providerConfig(entry, sources),
    nodeIPs: flags['node-ip'] ?? entry.nodeIP ?? [],
    ...(given(podCidr) && { podCidr }),
    address: flags.address ?? entry.address ?? kubelet.address ?? '0.0.0.0',
    port: flags.port ?? entry.port ?? kubelet.port ?? (alone ? 10250 : 0),
    readOnlyPort: flags['read-only-port'] ?? entry.readOnlyPort ?? kubelet.readOnlyPort ?? 0,
    systemLogDir: systemLogDir(entry, sources),
    serving: servingConfig(entry, name, sources),
    certDir: certDir(name, alone, sources),
    ...(given(clientCaFile) && { clientCaFile }),
    register: kubelet.registerNode ?? true,
    labels: mergeLabels(DEFAULT_LABELS, entry.labels, flags['node-labels']),
    taints: flags['register-with-taints'] ?? entry.taints ?? kubelet.registerWithTaints ?? defaultTaints(provider),
    ...(given(providerId) && { providerId }),
    ...(maxPods !== undefined && { maxPods }),
    podsPerCore: kubelet.podsPerCore ?? 0,
    reserved: sum(
      flags['kube-reserved'] ?? entry.kubeReserved ?? kubelet.kubeReserved,
      flags['system-reserved'] ?? entry.systemReserved ?? kubelet.systemReserved,
    ),
  };
}

async function providerConfig(entry: NodeEntry, { flags, environment }: NodeSources): Promise<unknown> {
  const file = flags['provider-config'];
  if (!given(file)) return entry.providerConfig ?? {};
  return parseProviderConfig(file, await read('--provider-config', resolve(environment.cwd, file), environment));
}

function systemLogDir({ systemLogDir: folder }: NodeEntry, { file }: NodeSources): string {
  return resolve(file.path === undefined ? '/' : dirname(file.path), given(folder) ? folder : '/var/log');
}

function mergeLabels(
  ...layers: readonly (Readonly<Record<string, string | null>> | undefined)[]
): Record<string, string> {
  const merged = new Map(layers.flatMap((layer) => Object.entries(layer ?? {})));
  return Object.fromEntries([...merged].filter((pair): pair is [string, string] => pair[1] !== null));
}

function defaultTaints(provider: string): readonly Taint[] {
  return [{ key: 'virtual-kubelet.io/provider', value: provider, effect: 'NoSchedule' }];
}

function sum(...parts: readonly (ReservedResources | undefined)[]): ReservedResources {
  const add = (pick: (part: ReservedResources) => number): number =>
    parts.reduce((total, part) => total + (part === undefined ? 0 : pick(part)), 0);
  return {
    cpuMilli: add((part) => part.cpuMilli),
    memoryBytes: add((part) => part.memoryBytes),
    ephemeralBytes: add((part) => part.ephemeralBytes),
  };
}
