import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ControlPlaneAccess } from './control-plane.ts';
import { isTrue, type Kube } from './kube.ts';
import { nodeAddress } from './node-address.ts';
import { REPOSITORY } from './paths.ts';
import { freePorts } from './ports.ts';
import { Service } from './process.ts';

export interface OutriggerOptions {
  /** Folder for its log, its provider's configuration and its pid file. */
  readonly dir: string;
  readonly nodeName: string;
  readonly kubeconfig: string;
  readonly context?: string;
  readonly provider?: 'docker' | 'fake';
  /** What --provider-config holds. */
  readonly providerConfig?: object;
  /** Files, or from the cluster's signer; signed by itself if not given. */
  readonly serving?: { readonly certFile: string; readonly keyFile: string } | 'requested';
  readonly clientCaFile?: string;
  readonly nodeIp?: string;
  /** What Node runs, with options of its own; the sources by default, so that failures name their lines. */
  readonly program?: readonly string[];
  /** Further flags; one that is given again wins. */
  readonly args?: readonly string[];
}

/** The program as a child process, restartable with the same flags. */
export class Outrigger {
  readonly nodeName: string;
  readonly logFile: string;
  readonly port: number;
  readonly healthzPort: number;
  readonly #options: OutriggerOptions;
  #service: Service | undefined;

  private constructor(options: OutriggerOptions, port: number, healthzPort: number) {
    this.#options = options;
    this.nodeName = options.nodeName;
    this.logFile = join(options.dir, `outrigger-${options.nodeName}.log`);
    this.port = port;
    this.healthzPort = healthzPort;
  }

  static async start(options: OutriggerOptions): Promise<Outrigger> {
    const [port = 0, healthzPort = 0] = await freePorts(2, '0.0.0.0');
    const outrigger = new Outrigger(options, port, healthzPort);
    await outrigger.start();
    return outrigger;
  }

  get running(): boolean {
    return this.#service?.running ?? false;
  }

  get pid(): number {
    if (this.#service === undefined) throw new Error(`${this.nodeName} is not started`);
    return this.#service.pid;
  }

  get exitCode(): number | null {
    return this.#service?.exitCode ?? null;
  }

  /** Starts it (again) and waits until /healthz answers. */
  async start(): Promise<void> {
    const { nodeName, dir } = this.#options;
    const service = new Service({
      name: `outrigger-${nodeName}`,
      command: process.execPath,
      args: [...(this.#options.program ?? [join(REPOSITORY, 'src/main.ts')]), ...this.#flags()],
      logFile: this.logFile,
      pidDir: join(dir, 'pids'),
      cwd: REPOSITORY,
    });
    this.#service = service;
    await service.ready(() => this.healthy());
  }

  #flags(): string[] {
    const {
      dir,
      nodeName,
      kubeconfig,
      context,
      provider = 'docker',
      providerConfig,
      serving,
      clientCaFile,
    } = this.#options;
    const flags = [
      `--kubeconfig=${kubeconfig}`,
      `--hostname-override=${nodeName}`,
      `--provider=${provider}`,
      `--node-ip=${this.#options.nodeIp ?? nodeAddress()}`,
      `--port=${this.port}`,
      `--healthz-port=${this.healthzPort}`,
      `--cert-dir=${join(dir, 'pki', nodeName)}`,
      '-v=4',
    ];
    if (context !== undefined) flags.push(`--context=${context}`);
    if (serving === 'requested') flags.push('--rotate-server-certificates');
    else if (serving === undefined) flags.push('--self-signed-serving-certificate');
    else flags.push(`--tls-cert-file=${serving.certFile}`, `--tls-private-key-file=${serving.keyFile}`);
    if (clientCaFile !== undefined) flags.push(`--client-ca-file=${clientCaFile}`);
    if (providerConfig !== undefined) {
      const file = join(dir, `provider-${nodeName}.yaml`);
      mkdirSync(dir, { recursive: true });
      writeFileSync(file, stringify(providerConfig));
      flags.push(`--provider-config=${file}`);
    }
    return [...flags, ...(this.#options.args ?? [])];
  }

  healthy(): Promise<boolean> {
    return new Promise((resolve) => {
      const sent = get({ host: '127.0.0.1', port: this.healthzPort, path: '/healthz', timeout: 2000 }, (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      });
      sent.once('timeout', () => sent.destroy());
      sent.once('error', () => resolve(false));
    });
  }

  /** SIGKILL, no warning. */
  async kill9(): Promise<void> {
    await this.#service?.crash();
  }

  /** SIGTERM, as an operator stops it. */
  async stop(graceMs = 15_000): Promise<void> {
    await this.#service?.stop(graceMs);
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Waits until the Node object says Ready. */
  async waitReady(kube: Kube, timeoutMs = 30_000): Promise<void> {
    await kube.waitFor('Node', this.nodeName, 'Ready', (node) => isTrue(node.status?.conditions, 'Ready'), {
      timeoutMs,
    });
  }

  log(): string {
    return readFileSync(this.logFile, 'utf8');
  }
}

export interface NodeOptions extends Partial<Omit<OutriggerOptions, 'nodeName'>> {
  readonly plane: ControlPlaneAccess;
  readonly nodeName: string;
  /** Under which rights it runs; the kubelet's own if not given. */
  readonly identity?: 'node' | 'service-account';
}

/** A node on a control plane of the test bed, with the certificates that `kubectl logs` needs. */
export async function startNode({ plane, nodeName, identity = 'node', ...options }: NodeOptions): Promise<Outrigger> {
  const nodeIp = options.nodeIp ?? nodeAddress();
  return await Outrigger.start({
    dir: join(plane.dir, 'nodes'),
    clientCaFile: plane.kubeletClientCaFile,
    ...options,
    nodeIp,
    nodeName,
    kubeconfig:
      options.kubeconfig ??
      (await (identity === 'node' ? plane.nodeKubeconfig(nodeName) : plane.serviceAccountKubeconfig())),
    serving: options.serving ?? (await plane.nodeServingCert(nodeName, [nodeIp])),
  });
}
