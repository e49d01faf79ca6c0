import { describe, expect, it } from 'vitest';
import { complaint, load, onlyNode, outriggerFile } from '../testing/config-files.ts';

describe('OutriggerConfiguration', () => {
  it('lists several nodes that share the kubelet settings', async () => {
    const { nodes } = await load(
      { config: 'c.yaml', 'max-pods': '9' },
      {
        '/etc/o/c.yaml': `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDomain: cluster.local
maxPods: 50
---
apiVersion: outrigger.dev/v1alpha1
kind: OutriggerConfiguration
nodes:
- name: a
  provider: docker
  podCIDR: 10.1.0.0/24
  port: 10250
- name: b
  provider: fake
  podCIDR: 10.2.0.0/24
  providerConfig: { kind: pod }
  labels: { zone: z, type: null }
  taints: []`,
      },
    );
    expect(nodes).toMatchObject([
      { name: 'a', provider: 'docker', podCidr: '10.1.0.0/24', port: 10250, maxPods: 9 },
      { name: 'b', provider: 'fake', port: 0, providerConfig: { kind: 'pod' }, taints: [], maxPods: 9 },
    ]);
    expect(nodes[1]?.labels).toEqual({ zone: 'z', 'node.kubernetes.io/exclude-from-external-load-balancers': '' });
  });

  it('a single listed node can be changed by flags', async () => {
    const node = await onlyNode(
      { config: 'c.yaml', 'hostname-override': 'z', 'pod-cidr': '10.9.0.0/24' },
      outriggerFile('nodes: [{name: a, provider: fake, podCIDR: 10.1.0.0/24}]'),
    );
    expect(node).toMatchObject({ name: 'z', provider: 'fake', podCidr: '10.9.0.0/24', port: 10250 });
  });

  it.each([
    ['nodes: []', 'c.yaml: OutriggerConfiguration.nodes: [] must list at least one node'],
    ['nodes: [{name: a}]', 'c.yaml: OutriggerConfiguration.nodes[0].provider: is missing'],
    [
      'nodes: [{name: a, provider: fake, colour: red}]',
      'c.yaml: OutriggerConfiguration.nodes[0].colour: unknown field',
    ],
    ['nodes: [{name: a, provider: fake}, {name: a, provider: fake}]', 'nodes: two nodes have the name a'],
    [
      'nodes: [{name: a, provider: fake, port: 10250}, {name: b, provider: fake, port: 10250}]',
      'node b: port 10250 is also the port of node a',
    ],
    [
      'nodes: [{name: a, provider: fake, podCIDR: 10.0.0.0/8}, {name: b, provider: fake, podCIDR: 10.2.0.0/24}]',
      'node b: podCIDR 10.2.0.0/24 overlaps podCIDR 10.0.0.0/8 of node a',
    ],
  ])('%s is refused, naming what collides', async (fields, message) => {
    expect(await complaint({ config: 'c.yaml' }, outriggerFile(fields))).toBe(message);
  });

  it('flags of one node are refused beside several nodes', async () => {
    const file = outriggerFile('nodes: [{name: a, provider: fake}, {name: b, provider: fake}]');
    expect(await complaint({ config: 'c.yaml', 'node-ip': '10.0.0.1' }, file)).toBe(
      '--node-ip: describes one node, but c.yaml lists 2; say it there',
    );
  });
});
