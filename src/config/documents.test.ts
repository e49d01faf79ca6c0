import { describe, expect, it } from 'vitest';
import { complaint, kubeletFile, load, onlyNode } from '../testing/config-files.ts';

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
          serving: { type: 'files', certFile: '/etc/o/tls.crt', keyFile: '/etc/o/tls.key' },
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
    ['authentication: { oidc: {} }', 'c.yaml: KubeletConfiguration.authentication.oidc: unknown field'],
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
