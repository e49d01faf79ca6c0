import { describe, expect, it } from 'vitest';
import { kubeletFile, load } from '../testing/config-files.ts';
import { kubeletConfiguration } from './kubelet-configuration.ts';
import { kubeletSchema } from './schema.ts';

async function effective(flags: Record<string, string>, files: Record<string, string> = {}): Promise<object> {
  const config = await load(flags, files);
  const [node] = config.nodes;
  if (node === undefined) throw new Error('no node');
  // As a client sees it.
  return JSON.parse(JSON.stringify(kubeletConfiguration(config, node))) as object;
}

describe('the effective KubeletConfiguration', () => {
  it('shows the defaults in the words of v1beta1', async () => {
    expect(await effective({})).toMatchObject({
      kind: 'KubeletConfiguration',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      enableServer: true,
      address: '0.0.0.0',
      port: 10250,
      authentication: { x509: {}, webhook: { enabled: true, cacheTTL: '2m0s' }, anonymous: { enabled: false } },
      authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '5m0s', cacheUnauthorizedTTL: '30s' } },
      registryPullQPS: 5,
      eventRecordQPS: 50,
      enableDebuggingHandlers: true,
      healthzPort: 10248,
      healthzBindAddress: '127.0.0.1',
      nodeStatusUpdateFrequency: '10s',
      nodeStatusReportFrequency: '5m0s',
      nodeLeaseDurationSeconds: 40,
      serializeImagePulls: true,
      enableSystemLogHandler: false,
      registerNode: true,
      crashLoopBackOff: { maxContainerRestartPeriod: '5m0s' },
    });
    expect(await effective({})).not.toHaveProperty('readOnlyPort');
  });

  it('shows what flags and files changed', async () => {
    const file = kubeletFile('maxPods: 7\nkubeReserved: {cpu: 100m, memory: 1Ki}\nclusterDNS: [10.0.0.10]');
    const flags = {
      config: 'c.yaml',
      'read-only-port': '10255',
      'client-ca-file': 'tls.crt',
      'pod-cidr': '10.1.0.0/24',
    };
    expect(await effective(flags, file)).toMatchObject({
      readOnlyPort: 10255,
      authentication: { x509: { clientCAFile: '/etc/o/tls.crt' } },
      maxPods: 7,
      podCIDR: '10.1.0.0/24',
      kubeReserved: { cpu: '100m', memory: '1024' },
      clusterDNS: ['10.0.0.10'],
    });
  });

  it('has no field that a file could not have', async () => {
    const known = new Set([...Object.keys(kubeletSchema.shape), 'kind', 'apiVersion', 'enableServer', 'logging']);
    expect(Object.keys(await effective({})).filter((name) => !known.has(name))).toEqual([]);
  });
});
