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
});
