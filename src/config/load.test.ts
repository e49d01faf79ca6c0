import { describe, expect, it } from 'vitest';
import { UsageError } from '../util/errors.ts';
import type { Config, NodeConfig } from './config.ts';
import { loadConfig } from './load.ts';

const FILES: Readonly<Record<string, string>> = { '/etc/o/kube.conf': '', '/etc/o/tls.crt': '', '/etc/o/tls.key': '' };

function load(flags: Record<string, string>, files: Record<string, string> = {}): Promise<Config> {
  const all: Readonly<Record<string, string>> = { ...FILES, ...files };
  return loadConfig(flags, {
    cwd: '/etc/o',
    hostname: 'Box.Example ',
    readFile: async (path) => {
      const content = all[path];
      if (content === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
      return content;
    },
  });
}

async function complaint(flags: Record<string, string>, files: Record<string, string> = {}): Promise<string> {
  const error: unknown = await load(flags, files).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UsageError)) throw new Error('expected a usage error', { cause: error });
  expect(error.message).not.toContain('\n');
  return error.message;
}

async function onlyNode(flags: Record<string, string>, files: Record<string, string> = {}): Promise<NodeConfig> {
  const { nodes } = await load(flags, files);
  const [node] = nodes;
  if (node === undefined || nodes.length !== 1) throw new Error('expected one node');
  return node;
}

function kubeletFile(fields: string): Record<string, string> {
  return { '/etc/o/c.yaml': `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${fields}\n` };
}

function outriggerFile(fields: string): Record<string, string> {
  return { '/etc/o/c.yaml': `apiVersion: outrigger.dev/v1alpha1\nkind: OutriggerConfiguration\n${fields}\n` };
}

describe('defaults', () => {
  it('describe one docker node named after the machine, tainted and labelled as a virtual node', async () => {
    const config = await load({});
    expect(config).toEqual({
      log: { format: 'json', verbosity: 2 },
      healthz: { address: '127.0.0.1', port: 10248 },
      clusterDns: [],
      clusterDomain: '',
      nodeStatus: { updateFrequencyMs: 10_000, reportFrequencyMs: 300_000, leaseDurationSeconds: 40, maxImages: 50 },
      events: { qps: 50, burst: 100 },
      images: { pullQps: 5, pullBurst: 10, maxParallelPulls: 1 },
      maxRestartBackoffMs: 300_000,
      nodes: [
        {
          name: 'box.example',
          provider: 'docker',
          providerConfig: {},
          nodeIPs: [],
          address: '0.0.0.0',
          port: 10250,
          register: true,
          labels: { type: 'virtual-kubelet', 'node.kubernetes.io/exclude-from-external-load-balancers': '' },
          taints: [{ key: 'virtual-kubelet.io/provider', value: 'docker', effect: 'NoSchedule' }],
          podsPerCore: 0,
          reserved: { cpuMilli: 0, memoryBytes: 0, ephemeralBytes: 0 },
        },
      ],
    });
  });
});

describe('flags', () => {
  it('all reach the configuration', async () => {
    const config = await load(
      {
        kubeconfig: 'kube.conf',
        context: 'dev',
        provider: 'fake',
        'provider-config': 'p.yaml',
        'hostname-override': 'n1',
        'node-ip': '10.0.0.5,fd00::5',
        address: '127.0.0.1',
        port: '0',
        'healthz-port': '0',
        'max-pods': '30',
        'register-node': 'false',
        'register-with-taints': 'a=b:NoExecute,c:NoSchedule',
        'node-labels': 'topology.kubernetes.io/zone=z1,team=x',
        'provider-id': 'docker://n1',
        'pod-cidr': '10.244.1.0/24',
        'tls-cert-file': 'tls.crt',
        'tls-private-key-file': 'tls.key',
        'client-ca-file': '/etc/o/tls.crt',
        'cluster-dns': '10.96.0.10,10.96.0.11',
        'cluster-domain': 'cluster.local',
        'kube-reserved': 'cpu=100m,memory=1Gi',
        'system-reserved': 'cpu=1,ephemeral-storage=2Gi,pid=100',
        'log-format': 'text',
        v: '4',
      },
      { '/etc/o/p.yaml': 'socket: /run/x.sock' },
    );
    expect(config).toMatchObject({
      kubeconfig: '/etc/o/kube.conf',
      context: 'dev',
      log: { format: 'text', verbosity: 4 },
      healthz: { port: 0 },
      clusterDns: ['10.96.0.10', '10.96.0.11'],
      clusterDomain: 'cluster.local',
      nodes: [
        {
          name: 'n1',
          provider: 'fake',
          providerConfig: { socket: '/run/x.sock' },
          nodeIPs: ['10.0.0.5', 'fd00::5'],
          address: '127.0.0.1',
          port: 0,
          tls: { certFile: '/etc/o/tls.crt', keyFile: '/etc/o/tls.key' },
          clientCaFile: '/etc/o/tls.crt',
          register: false,
          labels: { type: 'virtual-kubelet', 'topology.kubernetes.io/zone': 'z1', team: 'x' },
          taints: [
            { key: 'a', value: 'b', effect: 'NoExecute' },
            { key: 'c', effect: 'NoSchedule' },
          ],
          providerId: 'docker://n1',
          podCidr: '10.244.1.0/24',
          maxPods: 30,
          reserved: { cpuMilli: 1100, memoryBytes: 2 ** 30, ephemeralBytes: 2 ** 31 },
        },
      ],
    });
  });

  it('an empty --register-with-taints means no taint', async () => {
    expect((await onlyNode({ 'register-with-taints': '' })).taints).toEqual([]);
  });

  it('the default taint names the provider', async () => {
    expect((await onlyNode({ provider: 'fake' })).taints).toEqual([
      { key: 'virtual-kubelet.io/provider', value: 'fake', effect: 'NoSchedule' },
    ]);
  });

  it('a label with a trailing dash takes a default label away', async () => {
    const { labels } = await onlyNode({ 'node-labels': 'node.kubernetes.io/exclude-from-external-load-balancers-' });
    expect(labels).toEqual({ type: 'virtual-kubelet' });
  });

  it.each([
    [{ port: 'abc' }, '--port: "abc" must be a whole number from 0 to 65535'],
    [{ port: '70000' }, '--port: "70000" must be a whole number from 0 to 65535'],
    [{ v: 'x' }, '-v: "x" must be a whole number from 0 to 10'],
    [{ 'max-pods': '0' }, '--max-pods: "0" must be a whole number, 1 or more'],
    [{ 'register-node': 'yes' }, '--register-node: "yes" must be true or false'],
    [{ 'log-format': 'xml' }, '--log-format: "xml" must be json or text'],
    [{ 'node-ip': '10.0.0' }, '--node-ip: "10.0.0" must be IP addresses, separated by a comma'],
    [{ 'node-ip': '10.0.0.1,10.0.0.2' }, '--node-ip: "10.0.0.1,10.0.0.2" must be of two families if there are two'],
    [{ 'pod-cidr': '10.0.0.7/24' }, '--pod-cidr: "10.0.0.7/24" must have no bits set behind the prefix'],
    [
      { 'cluster-domain': 'a b' },
      '--cluster-domain: "a b" must be a DNS subdomain (lower case letters, digits, "-" and ".", at most 253 characters)',
    ],
    [{ 'cluster-dns': 'kube-dns' }, '--cluster-dns: "kube-dns" must be IP addresses, separated by a comma'],
    [
      { 'hostname-override': 'Not_A_Name' },
      '--hostname-override: "Not_A_Name" must be a DNS subdomain (lower case letters, digits, "-" and ".", at most 253 characters)',
    ],
    [
      { 'register-with-taints': 'a=b' },
      '--register-with-taints: "a=b" must be a list of taints such as key=value:NoSchedule',
    ],
    [
      { 'register-with-taints': 'a=b:Never' },
      '--register-with-taints: "a=b:Never" is not a taint: effect "Never" must be one of NoSchedule, PreferNoSchedule, NoExecute',
    ],
    [{ 'kube-reserved': 'cpu' }, '--kube-reserved: "cpu" must be a list such as cpu=100m,memory=1Gi'],
    [
      { 'kube-reserved': 'gpu=1' },
      '--kube-reserved: "gpu=1" must not have the key "gpu" (allowed: cpu, memory, ephemeral-storage, pid)',
    ],
    [{ 'kube-reserved': 'cpu=-1' }, '--kube-reserved: "cpu=-1" must hold quantities such as cpu 100m and memory 1Gi'],
    [
      { 'node-labels': 'node-role.kubernetes.io/worker=' },
      '--node-labels: "node-role.kubernetes.io/worker=" is not a list of node labels: a node may not set "node-role.kubernetes.io/worker" on itself (allowed in kubernetes.io and k8s.io: kubelet.kubernetes.io, node.kubernetes.io and the well-known host, topology and instance labels)',
    ],
    [
      { kubeconfig: 'none' },
      "--kubeconfig: /etc/o/none cannot be read: ENOENT: no such file or directory, open '/etc/o/none'",
    ],
    [{ 'tls-cert-file': 'tls.crt' }, '--tls-private-key-file: is missing beside --tls-cert-file "tls.crt"'],
    [
      { port: '10248', address: '127.0.0.1' },
      'node box.example: port 10248 is also the port of /healthz (--healthz-port)',
    ],
    [{ frobnicate: '1' }, '--frobnicate: unknown flag'],
  ])('%j is refused by name', async (flags, message) => {
    expect(await complaint(flags)).toBe(message);
  });
});

describe('KubeletConfiguration', () => {
  it('is read with the kubelet names of its fields', async () => {
    const files = kubeletFile(
      `port: 11250
address: 127.0.0.1
healthzPort: 11248
tlsCertFile: tls.crt
tlsPrivateKeyFile: tls.key
authentication: { x509: { clientCAFile: tls.crt } }
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
maxPods: 20
podsPerCore: 4
podPidsLimit: 1000
podCIDR: 10.1.0.0/24
providerID: x://y
registerWithTaints: [{ key: a, effect: NoSchedule }]
nodeStatusUpdateFrequency: 20s
nodeLeaseDurationSeconds: 20
nodeStatusMaxImages: -1
kubeReserved: { cpu: 500m }
eventRecordQPS: 0
registryPullQPS: 1
maxParallelImagePulls: 3
crashLoopBackOff: { maxContainerRestartPeriod: 1m30s }`,
    );
    expect(await load({ config: 'c.yaml' }, files)).toMatchObject({
      healthz: { port: 11248 },
      clusterDns: ['10.96.0.10'],
      // Only the update frequency is given: the report frequency follows it (reference 5.8).
      nodeStatus: { updateFrequencyMs: 20_000, reportFrequencyMs: 20_000, leaseDurationSeconds: 20, maxImages: -1 },
      events: { qps: 0, burst: 100 },
      images: { pullQps: 1, maxParallelPulls: 3 },
      maxRestartBackoffMs: 90_000,
      podPidsLimit: 1000,
      nodes: [
        {
          port: 11250,
          address: '127.0.0.1',
          tls: { certFile: '/etc/o/tls.crt', keyFile: '/etc/o/tls.key' },
          clientCaFile: '/etc/o/tls.crt',
          maxPods: 20,
          podsPerCore: 4,
          podCidr: '10.1.0.0/24',
          providerId: 'x://y',
          taints: [{ key: 'a', effect: 'NoSchedule' }],
          reserved: { cpuMilli: 500 },
        },
      ],
    });
  });

  it('loses to flags', async () => {
    const node = await onlyNode(
      { config: 'c.yaml', port: '12250', 'max-pods': '7' },
      kubeletFile('port: 1\nmaxPods: 2'),
    );
    expect(node).toMatchObject({ port: 12250, maxPods: 7 });
  });

  it.each([
    ['evictionHard: {}', 'c.yaml: KubeletConfiguration.evictionHard: not supported yet'],
    [
      'authentication: { anonymous: { enabled: false } }',
      'c.yaml: KubeletConfiguration.authentication.anonymous: not supported yet',
    ],
    ['prot: 5', 'c.yaml: KubeletConfiguration.prot: unknown field'],
    ['port: "x"', 'c.yaml: KubeletConfiguration.port: "x" must be a whole number from 0 to 65535'],
    [
      'clusterDomain: 5',
      'c.yaml: KubeletConfiguration.clusterDomain: 5 must be a text (in quotes if it looks like a number)',
    ],
    ['clusterDNS: [10.96.0.10, dns]', 'c.yaml: KubeletConfiguration.clusterDNS[1]: "dns" must be an IP address'],
    [
      'nodeStatusUpdateFrequency: 10',
      'c.yaml: KubeletConfiguration.nodeStatusUpdateFrequency: 10 must be a text (in quotes if it looks like a number)',
    ],
    [
      'crashLoopBackOff: { maxContainerRestartPeriod: 10m }',
      'c.yaml: KubeletConfiguration.crashLoopBackOff.maxContainerRestartPeriod: "10m" must be a duration such as "10s" or "1m30s", from 1s to 300s',
    ],
    [
      'serializeImagePulls: true\nmaxParallelImagePulls: 2',
      'KubeletConfiguration.maxParallelImagePulls: 2 must not be larger than 1 while serializeImagePulls is true',
    ],
    [
      'maxPods: 0\nport: -1',
      'c.yaml: KubeletConfiguration.port: -1 must be a whole number from 0 to 65535; KubeletConfiguration.maxPods: 0 must be a whole number, 1 or more',
    ],
  ])('%s is refused by name', async (fields, message) => {
    expect(await complaint({ config: 'c.yaml' }, kubeletFile(fields))).toBe(message);
  });

  it.each([
    ['', 'c.yaml: is empty'],
    ['---\n---\n', 'c.yaml: is empty'],
    ['[1]', 'c.yaml: document 1: [1] must be a mapping'],
    [
      'a: &a [x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c]',
      'c.yaml: Excessive alias count indicates a resource exhaustion attack',
    ],
    ['kind: Pod', 'c.yaml: document 1: kind: "Pod" must be one of KubeletConfiguration, OutriggerConfiguration'],
    [
      'kind: KubeletConfiguration\napiVersion: v1',
      'c.yaml: document 1: apiVersion: "v1" must be kubelet.config.k8s.io/v1beta1 for a KubeletConfiguration',
    ],
  ])('a file with %j is refused', async (content, message) => {
    expect(await complaint({ config: 'c.yaml' }, { '/etc/o/c.yaml': content })).toBe(message);
  });

  it('a file that is not YAML is refused with the place', async () => {
    expect(await complaint({ config: 'c.yaml' }, { '/etc/o/c.yaml': 'a: [1\nb: 2' })).toMatch(/^c\.yaml: .*line \d/);
  });

  it('a file that is not there is refused with its path', async () => {
    expect(await complaint({ config: 'c.yaml' })).toMatch(/^--config: \/etc\/o\/c\.yaml cannot be read: ENOENT/);
  });
});

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
