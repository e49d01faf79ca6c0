import { describe, expect, it } from 'vitest';
import { hostNetworkHostsFile, hostsFile, resolvConf } from './network-files.ts';

const LOCAL = `127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;

// reference 10.7
describe('the hosts file of a pod', () => {
  // Case 074 of the oracle, recorded on the kubelet.
  it('names its address, in its domain and alone', () => {
    const hostnames = ['custom.sub.ns.svc.cluster.local', 'custom'];
    expect(hostsFile({ hostnames, hostAliases: [] }, ['10.0.0.7'])).toBe(
      `# Kubernetes-managed hosts file.\n${LOCAL}10.0.0.7\tcustom.sub.ns.svc.cluster.local\tcustom\n`,
    );
  });

  it('has one line for each address and each alias', () => {
    const hostAliases = [
      { ip: '10.1.2.3', hostnames: ['foo', 'bar'] },
      { ip: '10.1.2.4', hostnames: ['baz'] },
    ];
    expect(hostsFile({ hostnames: ['p'], hostAliases }, ['10.0.0.7', 'fd00::7'])).toBe(
      `# Kubernetes-managed hosts file.\n${LOCAL}10.0.0.7\tp\nfd00::7\tp\n\n# Entries added by HostAliases.\n10.1.2.3\tfoo\tbar\n10.1.2.4\tbaz\n`,
    );
  });

  it("is the host's on its network, with the pod's aliases", () => {
    const ofHost = '127.0.0.1 localhost\n10.0.0.1 node\n';
    expect(hostNetworkHostsFile({ hostAliases: [] }, ofHost)).toBe(
      `# Kubernetes-managed hosts file (host network).\n${ofHost}`,
    );
    expect(hostNetworkHostsFile({ hostAliases: [{ ip: '10.1.2.3', hostnames: ['a'] }] }, ofHost)).toBe(
      `# Kubernetes-managed hosts file (host network).\n${ofHost}\n# Entries added by HostAliases.\n10.1.2.3\ta\n`,
    );
  });
});

it('the resolver file has its lines in the order of the container runtime', () => {
  const dns = { servers: ['10.96.0.10', '10.96.0.11'], searches: ['a.b', 'b'], options: ['ndots:5', 'edns0'] };
  expect(resolvConf(dns)).toBe('search a.b b\nnameserver 10.96.0.10\nnameserver 10.96.0.11\noptions ndots:5 edns0\n');
  expect(resolvConf({ servers: ['10.96.0.10'], searches: [], options: [] })).toBe('nameserver 10.96.0.10\n');
});
