import { formatPod, type Pod } from '../model/pod.ts';
import { parseResolvConf, type Resolver } from './resolv-conf.ts';

export interface DnsSettings {
  readonly servers: readonly string[];
  /** Empty: no cluster searches. */
  readonly domain: string;
  /** Text of the node's resolv.conf; undefined where the backend does not tell it. */
  readonly nodeResolvConf?: string | undefined;
}

/** What to tell the user when a policy could not be followed (events MissingClusterDNS and DNSConfigForming). */
interface DnsWarning {
  readonly reason: 'MissingClusterDNS' | 'DNSConfigForming';
  readonly message: string;
}

export interface DnsDecision {
  /** Undefined: the backend's own resolver, where nothing is known of the node's and the pod adds nothing to it. */
  readonly dns?: Resolver;
  readonly warnings: readonly DnsWarning[];
}

const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
/** Of one domain, DNS' own limit. */
const MAX_SEARCH_CHARS = 253;
/** Of the whole line. */
const MAX_SEARCH_LINE_CHARS = 2048;

const SERVERS_EXCEEDED =
  'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is:';
const SEARCHES_EXCEEDED =
  'Search Line limits were exceeded, some search paths have been omitted, the applied search line is:';

const NOTHING: Resolver = { servers: [], searches: [], options: [] };

/** Content of a pod's resolv.conf (dns.Configurer.GetPodDNS, reference 10.8). Throws where the node's cannot be read. */
export function podDns(pod: Pod, settings: DnsSettings): DnsDecision {
  const policy = policyOf(pod);
  const warnings: DnsWarning[] = [];
  if (policy === 'cluster' && settings.servers.length === 0) warnings.push(missingClusterDns(pod));
  const base = baseResolver(pod, policy, settings);
  const { dnsConfig } = pod.spec;
  if (base === undefined && dnsConfig === undefined) return { warnings };
  const merged = withConfig(base ?? NOTHING, dnsConfig);
  const servers = merged.servers.slice(0, MAX_SERVERS);
  if (servers.length < merged.servers.length) warnings.push(exceeded(SERVERS_EXCEEDED, servers));
  const searches = fittingSearches(merged.searches);
  if (searches.length < merged.searches.length) warnings.push(exceeded(SEARCHES_EXCEEDED, searches));
  return { dns: { ...merged, servers, searches }, warnings };
}

type Policy = 'cluster' | 'node' | 'none';

function policyOf({ spec }: Pod): Policy {
  switch (spec.dnsPolicy ?? 'ClusterFirst') {
    case 'None':
      return 'none';
    case 'ClusterFirst':
      return spec.hostNetwork === true ? 'node' : 'cluster';
    case 'Default':
      return 'node';
    default:
      return 'cluster';
  }
}

function baseResolver(
  pod: Pod,
  policy: Policy,
  { servers, domain, nodeResolvConf }: DnsSettings,
): Resolver | undefined {
  const node = nodeResolvConf === undefined ? undefined : parseResolvConf(nodeResolvConf);
  if (policy === 'none') return NOTHING;
  if (policy === 'node' || servers.length === 0) return node;
  const own = domain === '' ? [] : [`${pod.metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain];
  // Options of the node are not taken over.
  return { servers, searches: unique([...own, ...(node?.searches ?? [])]), options: ['ndots:5'] };
}

function withConfig(base: Resolver, config: Pod['spec']['dnsConfig']): Resolver {
  if (config === undefined) return base;
  const options = new Map<string, string>();
  for (const option of base.options) {
    const colon = option.indexOf(':');
    if (colon === -1) options.set(option, '');
    else options.set(option.slice(0, colon), option.slice(colon + 1));
  }
  for (const { name = '', value = '' } of config.options ?? []) options.set(name, value);
  return {
    servers: unique([...base.servers, ...(config.nameservers ?? [])]),
    searches: unique([...base.searches, ...(config.searches ?? [])]),
    options: [...options].map(([name, value]) => (value === '' ? name : `${name}:${value}`)),
  };
}

/** So many, each so long, all together so long: in this order (formDNSSearchFitsLimits). */
function fittingSearches(searches: readonly string[]): readonly string[] {
  const kept = searches.slice(0, MAX_SEARCHES).filter(({ length }) => length <= MAX_SEARCH_CHARS);
  while (kept.join(' ').length > MAX_SEARCH_LINE_CHARS) kept.pop();
  return kept;
}

function exceeded(what: string, applied: readonly string[]): DnsWarning {
  return { reason: 'DNSConfigForming', message: `${what} ${applied.join(' ')}` };
}

/** The kubelet writes the policy's name into the text, whichever of the two ClusterFirst policies the pod has. */
function missingClusterDns(pod: Pod): DnsWarning {
  return {
    reason: 'MissingClusterDNS',
    message: `pod: "${formatPod(pod)}". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`,
  };
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
