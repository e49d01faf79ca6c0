import type { SandboxSpec } from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';

/** Linux takes 64 bytes, the last of which ends the text. */
const MAX_HOSTNAME = 63;
/** The kubelet allows one more here, since the kernel does. */
const MAX_FQDN = 64;

/** What a pod is called: by itself, and in the domain of its subdomain (reference 10.6). */
interface PodNames {
  readonly hostname: string;
  /** Empty without a subdomain. */
  readonly domain: string;
}

function podNames({ metadata, spec }: Pod, clusterDomain: string): PodNames {
  const { hostname, subdomain = '', hostnameOverride } = spec;
  if (hostnameOverride !== undefined) return { hostname: cut(hostnameOverride), domain: '' };
  return {
    hostname: cut(hostname === undefined || hostname === '' ? metadata.name : hostname),
    domain: subdomain === '' ? '' : `${subdomain}.${metadata.namespace}.svc.${clusterDomain}`,
  };
}

export type SandboxNames = Pick<SandboxSpec, 'hostname'> & Pick<SandboxSpec['network'], 'hostnames'>;

/**
 * Host name of the pod's sandbox and names of its addresses in /etc/hosts (reference 10.6, 10.7). A pod on the node's own network
 * has the node's. Throws where the name that is asked for is too long, with the kubelet's text.
 */
export function sandboxNames(pod: Pod, clusterDomain: string): SandboxNames {
  if (pod.spec.hostNetwork === true) return { hostname: '' };
  const { hostname, domain } = podNames(pod, clusterDomain);
  if (domain === '') return { hostname, hostnames: [hostname] };
  const fqdn = `${hostname}.${domain}`;
  if (pod.spec.setHostnameAsFQDN !== true) return { hostname, hostnames: [fqdn, hostname] };
  if (fqdn.length > MAX_FQDN) {
    throw new Error(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${MAX_FQDN} characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return { hostname: fqdn, hostnames: [fqdn, hostname] };
}

function cut(name: string): string {
  return name.length <= MAX_HOSTNAME ? name : name.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, '');
}
