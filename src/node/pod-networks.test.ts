import { describe, expect, it } from 'vitest';
import { PodNetworks } from './pod-networks.ts';

describe('pod networks of one process', () => {
  it('are given to one node each', () => {
    const networks = new PodNetworks([]);
    expect(networks.claim('a', '10.1.0.0/24')).toBeUndefined();
    expect(networks.claim('a', '10.1.0.0/24')).toBeUndefined();
    expect(networks.claim('b', '10.2.0.0/24')).toBeUndefined();
    expect(networks.claim('c', '10.2.0.128/25')).toBe('pod network 10.2.0.128/25 overlaps 10.2.0.0/24 of node b');
  });

  it('may change; the former one is free then', () => {
    const networks = new PodNetworks([]);
    networks.claim('a', '10.1.0.0/24');
    networks.claim('a', '10.3.0.0/24');
    expect(networks.claim('b', '10.1.0.0/24')).toBeUndefined();
  });

  it('that are configured come first, also before their node asked', () => {
    const networks = new PodNetworks([{ name: 'a', podCidr: '10.1.0.0/16' }, { name: 'b' }]);
    expect(networks.claim('b', '10.1.9.0/24')).toContain('overlaps 10.1.0.0/16 of node a');
  });

  it('must be networks', () => {
    expect(new PodNetworks([]).claim('a', 'none')).toBe('pod network none is not a network in CIDR form');
  });
});
