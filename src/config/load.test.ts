import { describe, expect, it } from 'vitest';
import { complaint, load, onlyNode } from '../testing/config-files.ts';

describe('defaults', () => {
  it('describe one docker node named after the machine, tainted and labelled as a virtual node', async () => {
    const config = await load({});
    expect(config).toEqual({
      flags: { 'self-signed-serving-certificate': 'true' },
      log: { format: 'json', verbosity: 2 },
      healthz: { address: '127.0.0.1', port: 10248 },
      clientCertificate: { rotate: false },
      tls: { minVersion: 'TLSv1.2' },
      access: {
        anonymous: false,
        tokens: { enabled: true, cacheMs: 120_000 },
        authorization: { mode: 'Webhook', allowedMs: 300_000, deniedMs: 30_000 },
      },
      debug: { handlers: true, profiling: true, flags: true, systemLogs: false },
      streaming: { idleTimeoutMs: 14_400_000, endExecWithClient: false, declareWebSockets: true },
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
          readOnlyPort: 0,
          systemLogDir: '/var/log',
          serving: { type: 'selfSigned' },
          certDir: '/var/lib/outrigger/pki',
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
        'read-only-port': '10255',
        'anonymous-auth': 'true',
        'authentication-token-webhook': 'false',
        'authentication-token-webhook-cache-ttl': '1m',
        'authorization-mode': 'AlwaysAllow',
        'authorization-webhook-cache-authorized-ttl': '10s',
        'authorization-webhook-cache-unauthorized-ttl': '0s',
        'allow-open-kubelet-api': 'true',
        'enable-debugging-handlers': 'false',
        'end-exec-with-client': 'true',
        'feature-gates': 'ExtendWebSocketsToKubelet=false',
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
      streaming: { endExecWithClient: true, declareWebSockets: false },
      healthz: { port: 0 },
      access: {
        anonymous: true,
        tokens: { enabled: false, cacheMs: 60_000 },
        authorization: { mode: 'AlwaysAllow', allowedMs: 10_000, deniedMs: 0 },
      },
      debug: { handlers: false },
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
          readOnlyPort: 10255,
          serving: { type: 'files', certFile: '/etc/o/tls.crt', keyFile: '/etc/o/tls.key' },
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
