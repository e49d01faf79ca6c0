import type { NetworkSpec } from '../contract/index.ts';

/** Files about names that a pod has instead of its backend's, as the kubelet and the runtimes below it write them. */

const HEADER = '# Kubernetes-managed hosts file.\n';
const HOST_HEADER = '# Kubernetes-managed hosts file (host network).\n';
const LOCAL = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'fe00::0\tip6-mcastprefix',
  'fe00::1\tip6-allnodes',
  'fe00::2\tip6-allrouters',
];

type HostsInput = Pick<NetworkSpec, 'hostnames' | 'hostAliases'>;

/** /etc/hosts of a pod with addresses of its own (kubelet: managedHostsFileContent, reference 10.7). */
export function hostsFile({ hostnames = [], hostAliases }: HostsInput, ips: readonly string[]): string {
  const own = hostnames.length === 0 ? [] : ips.map((ip) => [ip, ...hostnames].join('\t'));
  return `${HEADER}${[...LOCAL, ...own].join('\n')}\n${aliasLines(hostAliases)}`;
}

/** /etc/hosts of a pod on the host's network: the host's own file, and the pod's aliases. */
export function hostNetworkHostsFile({ hostAliases }: Pick<HostsInput, 'hostAliases'>, ofHost: string): string {
  return `${HOST_HEADER}${ofHost}${aliasLines(hostAliases)}`;
}

function aliasLines(aliases: HostsInput['hostAliases']): string {
  if (aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}

/** /etc/resolv.conf, as containerd writes it for a kubelet. */
export function resolvConf({ servers, searches, options }: NonNullable<NetworkSpec['dns']>): string {
  const lines = [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
