import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { binaryPath } from './build.ts';
import { Authority } from './certs.ts';
import type { ControlPlane } from './control-plane.ts';
import type { Kube } from './kube.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { nodeAddress } from './node-address.ts';
import { freePorts } from './ports.ts';
import { Service } from './process.ts';
import { requestToken } from './rbac.ts';
import { waitFor } from './wait.ts';

const NAME = 'metrics-server';
const NAMESPACE = 'kube-system';
const API_GROUP = 'rbac.authorization.k8s.io';

/** The shortest that it takes; a scrape may not take longer. */
const RESOLUTION_SECONDS = 10;

/**
 * metrics-server as a process of this machine, with the identity, rights and flags that its manifests give it. It believes only
 * kubelets whose certificates the cluster's authority signed. The control plane needs aggregation.ts.
 */
export class MetricsServer {
  readonly #service: Service;

  private constructor(service: Service) {
    this.#service = service;
  }

  static async start(plane: ControlPlane, kube: Kube): Promise<MetricsServer> {
    const keys = join(plane.dir, 'keys');
    const ca = await Authority.open(keys, `${NAME}-ca`);
    const serving = await ca.issueFiles(NAME, { commonName: NAME, hosts: [`${NAME}.${NAMESPACE}.svc`] });
    const [port = 0] = await freePorts(1, '0.0.0.0');
    await grant(kube);
    await publish(kube, port, ca.pem);
    const token = await requestToken(kube, NAME, NAMESPACE);
    const caPem = readFileSync(plane.kubeletClientCaFile, 'utf8');
    const kubeconfig = writeKubeconfig(join(keys, `${NAME}.kubeconfig`), plane.url, caPem, {
      name: NAME,
      credentials: { token },
    });
    const service = new Service({
      name: NAME,
      command: binaryPath(NAME),
      args: [
        `--kubeconfig=${kubeconfig}`,
        `--authentication-kubeconfig=${kubeconfig}`,
        `--authorization-kubeconfig=${kubeconfig}`,
        `--secure-port=${port}`,
        `--tls-cert-file=${serving.certFile}`,
        `--tls-private-key-file=${serving.keyFile}`,
        `--kubelet-certificate-authority=${plane.kubeletClientCaFile}`,
        '--kubelet-preferred-address-types=InternalIP',
        '--kubelet-use-node-status-port',
        `--metric-resolution=${RESOLUTION_SECONDS}s`,
        `--kubelet-request-timeout=${RESOLUTION_SECONDS / 2}s`,
        '--v=2',
      ],
      logFile: plane.logFile(NAME),
      pidDir: join(plane.dir, 'pids'),
      cwd: plane.dir,
    });
    const server = new MetricsServer(service);
    try {
      await service.ready(() => isAvailable(kube), 120_000);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  async stop(): Promise<void> {
    await this.#service.stop(2000);
  }
}

async function isAvailable(kube: Kube): Promise<boolean> {
  const { status } = await kube.get('APIService', 'v1beta1.metrics.k8s.io');
  return status?.conditions?.some(({ type, status: is }) => type === 'Available' && is === 'True') ?? false;
}

/** What its manifests grant: of nodes it may see metrics and nothing else. */
async function grant(kube: Kube): Promise<void> {
  const role = `system:${NAME}`;
  const subjects = [{ kind: 'ServiceAccount', name: NAME, namespace: NAMESPACE }];
  const clusterRole = (name: string) => ({ apiGroup: API_GROUP, kind: 'ClusterRole', name });
  await kube.apply({ kind: 'ServiceAccount', metadata: { name: NAME, namespace: NAMESPACE } });
  await kube.apply({
    kind: 'ClusterRole',
    metadata: { name: role },
    rules: [
      { apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] },
      { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] },
    ],
  });
  await kube.apply({ kind: 'ClusterRoleBinding', metadata: { name: role }, roleRef: clusterRole(role), subjects });
  await kube.apply({
    kind: 'ClusterRoleBinding',
    metadata: { name: `${NAME}:system:auth-delegator` },
    roleRef: clusterRole('system:auth-delegator'),
    subjects,
  });
  // Made by the API server's start, a moment after it is ready.
  const reader = 'extension-apiserver-authentication-reader';
  await waitFor(async () => (await kube.find('Role', reader, NAMESPACE)) !== undefined, { what: `the role ${reader}` });
  await kube.apply({
    kind: 'RoleBinding',
    metadata: { name: `${NAME}-auth-reader`, namespace: NAMESPACE },
    roleRef: { apiGroup: API_GROUP, kind: 'Role', name: reader },
    subjects,
  });
}

/** The API group, a Service without pods, and the one address behind it. Loopback is refused as an endpoint. */
async function publish(kube: Kube, port: number, caPem: string): Promise<void> {
  const metadata = { name: NAME, namespace: NAMESPACE };
  await kube.apply({ kind: 'Service', metadata, spec: { ports: [{ name: 'https', port: 443, targetPort: port }] } });
  await kube.apply({
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': NAME } },
    addressType: 'IPv4',
    ports: [{ name: 'https', port, protocol: 'TCP' }],
    endpoints: [{ addresses: [nodeAddress()], conditions: { ready: true } }],
  });
  await kube.apply({
    kind: 'APIService',
    metadata: { name: 'v1beta1.metrics.k8s.io' },
    spec: {
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      groupPriorityMinimum: 100,
      versionPriority: 100,
      caBundle: Buffer.from(caPem).toString('base64'),
      service: { name: NAME, namespace: NAMESPACE, port: 443 },
    },
  });
}
