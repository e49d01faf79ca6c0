import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Binary, binaryPath, buildBinaries } from './build.ts';
import { pickClusterCidr } from './cluster-cidr.ts';
import { Credentials } from './control-plane-credentials.ts';
import { Kube } from './kube.ts';
import { freePorts } from './ports.ts';
import { Service } from './process.ts';
import { Progress } from './progress.ts';
import { type AccountOptions, createServiceAccountToken } from './rbac.ts';

type Part = 'apiserver' | 'controller-manager' | 'scheduler';

export interface ControlPlaneOptions {
  /** Everything is kept below this folder: keys, data, logs, pid files. */
  readonly dir: string;
  readonly parts?: readonly Part[];
  readonly progress?: Progress;
  readonly clusterCidr?: string;
  /** Further flags by part; a flag that is given again wins. */
  readonly flags?: { readonly [P in Part]?: readonly string[] };
}

/** Where a control plane can be reached and where its keys are: plain data, so that it can be handed to another process. */
export interface ControlPlaneInfo {
  readonly dir: string;
  readonly url: string;
  readonly clusterCidr: string;
  /** Kubeconfig of a cluster administrator. */
  readonly kubeconfig: string;
}

const ALL: readonly Part[] = ['apiserver', 'controller-manager', 'scheduler'];
const BINARIES: Record<Part, readonly Binary[]> = {
  apiserver: ['etcd', 'kube-apiserver'],
  'controller-manager': ['kube-controller-manager'],
  scheduler: ['kube-scheduler'],
};
const SERVICE_CIDR = '10.96.0.0/16';
const INFO_FILE = 'control-plane.json';

/** A control plane that runs somewhere: credentials for it. */
export class ControlPlaneAccess {
  readonly info: ControlPlaneInfo;
  protected readonly credentials: Credentials;

  constructor(info: ControlPlaneInfo, credentials: Credentials) {
    this.info = info;
    this.credentials = credentials;
  }

  static async attach(dir: string): Promise<ControlPlaneAccess> {
    const info = JSON.parse(readFileSync(join(dir, INFO_FILE), 'utf8')) as ControlPlaneInfo; // written by startControlPlane
    return new ControlPlaneAccess(info, await Credentials.open(join(dir, 'keys')));
  }

  get dir(): string {
    return this.info.dir;
  }

  get url(): string {
    return this.info.url;
  }

  /** Kubeconfig of a cluster administrator. */
  get kubeconfig(): string {
    return this.info.kubeconfig;
  }

  kube(): Promise<Kube> {
    return Kube.open(this.kubeconfig);
  }

  /** The identity that a kubelet has: `system:node:NAME`, judged by the Node authorizer. */
  nodeKubeconfig(name: string): Promise<string> {
    return this.credentials.kubeconfig(`node-${name}.kubeconfig`, this.url, `system:node:${name}`, 'system:nodes');
  }

  /** What a new node begins with: a bootstrap token (`ID.SECRET`). */
  bootstrapKubeconfig(token: string): string {
    return this.credentials.tokenKubeconfig('bootstrap.kubeconfig', this.url, 'bootstrap', token);
  }

  /** The identity of a ServiceAccount with the rights of rbac.ts. */
  async serviceAccountKubeconfig(
    name = 'outrigger',
    namespace = 'kube-system',
    options: AccountOptions = {},
  ): Promise<string> {
    const kube = await this.kube();
    try {
      const token = await createServiceAccountToken(kube, name, namespace, options);
      return this.credentials.tokenKubeconfig(`service-account-${name}.kubeconfig`, this.url, name, token);
    } finally {
      kube.close();
    }
  }

  /** Whom a kubelet server lets in: the API server's client certificate is signed by this authority. */
  get kubeletClientCaFile(): string {
    return this.credentials.ca.certFile;
  }

  /** A serving certificate for a node's kubelet server that the API server accepts for `addresses`. */
  nodeServingCert(name: string, addresses: readonly string[]): Promise<{ certFile: string; keyFile: string }> {
    return this.credentials.ca.issueFiles(`serving-${name}`, {
      commonName: `system:node:${name}`,
      organization: 'system:nodes',
      hosts: [name, ...addresses],
    });
  }

  /** A client certificate as the API server shows to kubelets, for tests that talk to the kubelet server directly. */
  get kubeletClient(): { readonly certFile: string; readonly keyFile: string; readonly caFile: string } {
    const keys = join(this.dir, 'keys');
    return {
      certFile: join(keys, 'kubelet-client.crt'),
      keyFile: join(keys, 'kubelet-client.key'),
      caFile: this.credentials.ca.certFile,
    };
  }
}

/** A control plane whose processes are ours. */
export class ControlPlane extends ControlPlaneAccess {
  readonly #services: Service[] = [];
  #apiserver: Service | undefined;
  #etcdUrl = '';
  readonly #options: ControlPlaneOptions;

  constructor(info: ControlPlaneInfo, credentials: Credentials, options: ControlPlaneOptions) {
    super(info, credentials);
    this.#options = options;
  }

  async start(): Promise<void> {
    const parts = this.#options.parts ?? ALL;
    this.#etcdUrl = await this.#startEtcd();
    await this.startApiServer();
    if (parts.includes('controller-manager')) await this.#startControllerManager();
    if (parts.includes('scheduler')) await this.#startScheduler();
    const kube = await this.kube();
    // Without it no pod may be created in the namespace `default`.
    if (parts.includes('controller-manager')) await kube.waitForServiceAccount('default');
    kube.close();
  }

  logFile(part: string): string {
    return join(this.dir, 'logs', `${part}.log`);
  }

  /** Ends the API server alone, without grace unless asked; everything else goes on. */
  async stopApiServer({ graceMs = 0 } = {}): Promise<void> {
    await (graceMs === 0 ? this.#apiserver?.kill() : this.#apiserver?.stop(graceMs));
    this.#apiserver = undefined;
  }

  /** At the same address with the same data as before. */
  async startApiServer(): Promise<void> {
    this.#apiserver = await this.#spawnApiServer('apiserver', this.url, this.#options.flags?.apiserver ?? []);
    const kube = await this.kube();
    await this.#apiserver.ready(async () => (await kube.http.text({ method: 'GET', path: '/readyz' })) === 'ok');
    kube.close();
  }

  /** Beside the first, on the same data, for what its flags make different. */
  async startAnotherApiServer(name: string, flags: readonly string[]): Promise<{ kubeconfig: string; pid: number }> {
    const [port] = await freePorts(1);
    const url = `https://127.0.0.1:${port}`;
    const service = await this.#spawnApiServer(name, url, flags);
    const kubeconfig = await this.credentials.kubeconfig(`admin-${name}.kubeconfig`, url, 'admin', 'system:masters');
    const kube = await Kube.open(kubeconfig);
    await service.ready(async () => (await kube.http.text({ method: 'GET', path: '/readyz' })) === 'ok');
    kube.close();
    return { kubeconfig, pid: service.pid };
  }

  get apiServerPid(): number {
    if (this.#apiserver === undefined) throw new Error('the API server does not run');
    return this.#apiserver.pid;
  }

  async #spawnApiServer(name: string, url: string, flags: readonly string[]): Promise<Service> {
    const keys = join(this.dir, 'keys');
    const { ca, etcdCa, signingKeyFile } = this.credentials;
    const serving = await ca.issueFiles('apiserver', {
      commonName: 'kube-apiserver',
      hosts: ['127.0.0.1', '10.96.0.1', 'localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
    });
    // The identity that kubelet servers ask SubjectAccessReview about; an administrator may do everything on nodes.
    const kubelet = await ca.issueFiles('kubelet-client', {
      commonName: 'kube-apiserver',
      organization: 'system:masters',
    });
    const etcd = await etcdCa.issueFiles('etcd-client', { commonName: 'kube-apiserver' });
    return this.#spawn(name, 'kube-apiserver', [
      `--etcd-servers=${this.#etcdUrl}`,
      `--etcd-cafile=${etcdCa.certFile}`,
      `--etcd-certfile=${etcd.certFile}`,
      `--etcd-keyfile=${etcd.keyFile}`,
      `--secure-port=${new URL(url).port}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      '--endpoint-reconciler-type=none',
      `--cert-dir=${keys}`,
      `--tls-cert-file=${serving.certFile}`,
      `--tls-private-key-file=${serving.keyFile}`,
      `--client-ca-file=${ca.certFile}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
      `--service-account-key-file=${signingKeyFile}`,
      `--service-account-signing-key-file=${signingKeyFile}`,
      `--kubelet-client-certificate=${kubelet.certFile}`,
      `--kubelet-client-key=${kubelet.keyFile}`,
      `--kubelet-certificate-authority=${ca.certFile}`,
      '--kubelet-preferred-address-types=InternalIP',
      '--allow-privileged',
      `--service-cluster-ip-range=${SERVICE_CIDR}`,
      ...flags,
    ]);
  }

  /** In an order in which nobody misses the one before. */
  async stop(): Promise<void> {
    const [etcd, ...others] = this.#services.filter((service) => service.running);
    await Promise.all(others.map((service) => service.stop(1000)));
    await etcd?.stop(2000);
  }

  async #startEtcd(): Promise<string> {
    const [client, peer] = await freePorts(2);
    const { etcdCa } = this.credentials;
    const serving = await etcdCa.issueFiles('etcd', { commonName: 'etcd', hosts: ['127.0.0.1', 'localhost'] });
    const url = `https://127.0.0.1:${client}`;
    const peerUrl = `http://127.0.0.1:${peer}`;
    const service = this.#spawn('etcd', 'etcd', [
      `--data-dir=${join(this.dir, 'etcd')}`,
      '--name=default',
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=default=${peerUrl}`,
      `--cert-file=${serving.certFile}`,
      `--key-file=${serving.keyFile}`,
      `--trusted-ca-file=${etcdCa.certFile}`,
      '--client-cert-auth',
      '--unsafe-no-fsync',
      '--log-level=warn',
    ]);
    if (!service.running) throw new Error('etcd did not start');
    return url; // the API server waits for it
  }

  async #startControllerManager(): Promise<void> {
    const { ca, signingKeyFile } = this.credentials;
    const user = 'system:kube-controller-manager';
    const kubeconfig = await this.credentials.kubeconfig('controller-manager.kubeconfig', this.url, user);
    this.#spawn('controller-manager', 'kube-controller-manager', [
      `--kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      '--secure-port=0',
      `--service-account-private-key-file=${signingKeyFile}`,
      `--root-ca-file=${ca.certFile}`,
      `--cluster-signing-cert-file=${ca.certFile}`,
      `--cluster-signing-key-file=${ca.keyFile}`,
      '--use-service-account-credentials',
      '--allocate-node-cidrs',
      `--cluster-cidr=${this.info.clusterCidr}`,
      '--node-cidr-mask-size=24',
      `--service-cluster-ip-range=${SERVICE_CIDR}`,
      ...(this.#options.flags?.['controller-manager'] ?? []),
    ]);
  }

  async #startScheduler(): Promise<void> {
    const user = 'system:kube-scheduler';
    const kubeconfig = await this.credentials.kubeconfig('scheduler.kubeconfig', this.url, user);
    this.#spawn('scheduler', 'kube-scheduler', [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      '--leader-elect=false',
      '--secure-port=0',
      ...(this.#options.flags?.scheduler ?? []),
    ]);
  }

  #spawn(name: string, binary: Binary, args: readonly string[]): Service {
    const service = new Service({
      name,
      command: binaryPath(binary),
      args,
      logFile: this.logFile(name),
      pidDir: join(this.dir, 'pids'),
      cwd: this.dir,
    });
    this.#services.push(service);
    return service;
  }
}

/** Builds what is missing and starts a private control plane on loopback; ready in a few seconds. */
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  const progress = options.progress ?? new Progress();
  const parts = options.parts ?? ALL;
  await buildBinaries(
    parts.flatMap((part) => BINARIES[part]),
    progress,
  );
  const { dir } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const credentials = await Credentials.open(join(dir, 'keys'));
  const [port] = await freePorts(1);
  const url = `https://127.0.0.1:${port}`;
  const kubeconfig = await credentials.kubeconfig('admin.kubeconfig', url, 'admin', 'system:masters');
  const info: ControlPlaneInfo = { dir, url, clusterCidr: options.clusterCidr ?? pickClusterCidr(), kubeconfig };
  writeFileSync(join(dir, INFO_FILE), JSON.stringify(info));
  const plane = new ControlPlane(info, credentials, options);
  try {
    await progress.during('starting the control plane', () => plane.start());
  } catch (error) {
    await plane.stop();
    throw error;
  }
  return plane;
}
