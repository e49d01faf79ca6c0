import { describe, expect, it } from 'vitest';
import { formatPod } from '../model/pod.ts';
import { makePod } from '../testing/builders.ts';
import { podDns } from './dns.ts';

const CLUSTER = { servers: ['10.96.0.10'], domain: 'cluster.local' };

// reference 10.8
describe('DNS of a pod', () => {
  it('asks the cluster first, searching the own namespace before the cluster', () => {
    for (const spec of [
      {},
      { dnsPolicy: 'ClusterFirst' },
      { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true },
    ]) {
      expect(podDns(makePod({ spec }), CLUSTER)).toEqual({
        dns: {
          servers: ['10.96.0.10'],
          searches: ['ns.svc.cluster.local', 'svc.cluster.local', 'cluster.local'],
          options: ['ndots:5'],
        },
        warnings: [],
      });
    }
  });

  it("is the backend's own with policy Default, and on the node's network", () => {
    for (const spec of [{ dnsPolicy: 'Default' }, { dnsPolicy: 'ClusterFirst', hostNetwork: true }]) {
      expect(podDns(makePod({ spec }), CLUSTER)).toEqual({ warnings: [] });
    }
  });

  it('falls back to Default without a cluster DNS, and says so', () => {
    const pod = makePod();
    const decision = podDns(pod, { servers: [], domain: 'cluster.local' });
    expect(decision.dns).toBeUndefined();
    expect(decision.warnings).toEqual([
      {
        reason: 'MissingClusterDNS',
        message: `pod: "${formatPod(pod)}". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`,
      },
    ]);
  });

  it('has no cluster searches without a cluster domain', () => {
    expect(podDns(makePod(), { ...CLUSTER, domain: '' }).dns?.searches).toEqual([]);
  });

  it('takes three servers at most, and says which', () => {
    const decision = podDns(makePod(), { ...CLUSTER, servers: ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'] });
    expect(decision.dns?.servers).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    expect(decision.warnings).toEqual([
      {
        reason: 'DNSConfigForming',
        message:
          'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 10.0.0.1 10.0.0.2 10.0.0.3',
      },
    ]);
  });

  const NODE = {
    ...CLUSTER,
    nodeResolvConf: `# of the node
search old.example
nameserver 10.0.0.53
nameserver 10.0.0.54
search . example.org. svc.cluster.local
options ndots:2 edns0
options ndots:3
`,
  };

  it("is the node's with policy Default, and on the node's network", () => {
    for (const spec of [{ dnsPolicy: 'Default' }, { dnsPolicy: 'ClusterFirst', hostNetwork: true }]) {
      expect(podDns(makePod({ spec }), NODE)).toEqual({
        dns: {
          servers: ['10.0.0.53', '10.0.0.54'],
          searches: ['example.org', 'svc.cluster.local'],
          options: ['ndots:3', 'edns0'],
        },
        warnings: [],
      });
    }
    expect(podDns(makePod(), { ...NODE, servers: [] }).dns?.servers).toEqual(['10.0.0.53', '10.0.0.54']);
  });

  it("searches what the node searches after the cluster's, each once, and takes no options of the node", () => {
    expect(podDns(makePod(), NODE).dns).toEqual({
      servers: ['10.96.0.10'],
      searches: ['ns.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.org'],
      options: ['ndots:5'],
    });
  });

  it('has what the pod asks for added, options by name', () => {
    const dnsConfig = {
      nameservers: ['10.9.9.9', '10.96.0.10'],
      searches: ['mine.example', 'cluster.local'],
      options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }],
    };
    expect(podDns(makePod({ spec: { dnsConfig } }), CLUSTER).dns).toEqual({
      servers: ['10.96.0.10', '10.9.9.9'],
      searches: ['ns.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'mine.example'],
      options: ['ndots:2', 'edns0'],
    });
    expect(podDns(makePod({ spec: { dnsPolicy: 'None', dnsConfig } }), NODE).dns).toEqual({
      servers: ['10.9.9.9', '10.96.0.10'],
      searches: ['mine.example', 'cluster.local'],
      options: ['ndots:2', 'edns0'],
    });
  });

  it('has 32 searches at most, none of them too long, in a line of 2048 characters', () => {
    const searchesFor = (searches: string[]) =>
      podDns(makePod({ spec: { dnsPolicy: 'None', dnsConfig: { nameservers: ['10.9.9.9'], searches } } }), CLUSTER);
    const many = Array.from({ length: 40 }, (_, i) => `s${i}`);
    expect(searchesFor(many).dns?.searches).toEqual(many.slice(0, 32));
    expect(searchesFor(many).warnings).toEqual([
      {
        reason: 'DNSConfigForming',
        message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${many.slice(0, 32).join(' ')}`,
      },
    ]);
    const long = 'x'.repeat(254);
    expect(searchesFor(['a', long, 'b']).dns?.searches).toEqual(['a', 'b']);
    const big = Array.from({ length: 10 }, (_, i) => `${i}${'y'.repeat(250)}`);
    expect(searchesFor(big).dns?.searches).toEqual(big.slice(0, 8));
    expect(searchesFor(many.slice(0, 32)).warnings).toEqual([]);
  });

  it("cannot be formed from a node's file that names no server on a nameserver line", () => {
    const broken = { ...CLUSTER, nodeResolvConf: 'nameserver\n' };
    expect(() => podDns(makePod(), broken)).toThrow(
      'Encountered error while parsing resolv conf file. Error: nameserver list is empty ',
    );
  });
});
