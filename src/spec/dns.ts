import type { NetworkSpec } from '../../providers/contract/index.ts';
import { formatPod, type Pod } from '../model/pod.ts';

export interface ClusterDns {
  readonly servers: readonly string[];
  /** Empty: no cluster searches. */
  readonly domain: string;
}

/** What to tell the user when a policy could not be followed (events MissingClusterDNS and DNSConfigForming). */
interface DnsWarning {
  readonly reason: 'MissingClusterDNS' | 'DNSConfigForming';
  readonly message: string;
}

export interface DnsDecision {
  /** Undefined: the backend's own resolver, which is what dnsPolicy Default means for a backend. */
  readonly dns?: NonNullable<NetworkSpec['dns']>;
  readonly warnings: readonly DnsWarning[];
}

const MAX_SERVERS = 3;

/** Content of a pod's resolv.conf (reference 10.8). dnsPolicy None and dnsConfig are refused at admission for now. */
export function podDns(pod: Pod, cluster: ClusterDns): DnsDecision {
  if (!wantsClusterDns(pod)) return { warnings: [] };
  if (cluster.servers.length === 0) return { warnings: [missingClusterDns(pod)] };
  const { domain } = cluster;
  const searches = domain === '' ? [] : [`${pod.metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain];
  const servers = cluster.servers.slice(0, MAX_SERVERS);
  const dns = { servers, searches, options: ['ndots:5'] };
  return { dns, warnings: servers.length < cluster.servers.length ? [tooManyServers(servers)] : [] };
}

function wantsClusterDns({ spec }: Pod): boolean {
  switch (spec.dnsPolicy ?? 'ClusterFirst') {
    case 'ClusterFirstWithHostNet':
      return true;
    case 'ClusterFirst':
      return spec.hostNetwork !== true;
    default:
      return false;
  }
}

/** The kubelet writes the policy's name into the text, whichever of the two ClusterFirst policies the pod has. */
function missingClusterDns(pod: Pod): DnsWarning {
  return {
    reason: 'MissingClusterDNS',
    message: `pod: "${formatPod(pod)}". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`,
  };
}

function tooManyServers(applied: readonly string[]): DnsWarning {
  return {
    reason: 'DNSConfigForming',
    message: `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${applied.join(' ')}`,
  };
}
