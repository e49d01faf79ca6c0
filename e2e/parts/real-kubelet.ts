import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { binaryPath } from './build.ts';
import type { ControlPlaneAccess } from './control-plane.ts';
import type { DockerHttp } from './docker-http.ts';
import { IMAGES, type ImageName } from './images.ts';
import { nodeAddress } from './node-address.ts';
import { freePorts } from './ports.ts';
import { isOnPath, run, Service } from './process.ts';

/** What it needs beside the binary: Debian's containerd, and root. */
export function canRunRealKubelet(): boolean {
  return process.getuid?.() === 0 && ['containerd', 'ctr', 'runc'].every(isOnPath);
}

/**
 * Kubernetes' own kubelet on a containerd of its own, to compare with: an ordinary node of the control plane. Without
 * network plugin, so it runs pods with `hostNetwork` only, and is never Ready.
 */
export class RealKubelet {
  readonly nodeName: string;
  readonly #containerd: Service;
  readonly #kubelet: Service;
  readonly #socket: string;

  private constructor(nodeName: string, containerd: Service, kubelet: Service, socket: string) {
    this.nodeName = nodeName;
    this.#containerd = containerd;
    this.#kubelet = kubelet;
    this.#socket = socket;
  }

  /** `images` are taken over from the engine. */
  static async start(
    plane: ControlPlaneAccess,
    options: {
      readonly nodeName: string;
      readonly dir: string;
      readonly docker: DockerHttp;
      readonly images: readonly ImageName[];
    },
  ): Promise<RealKubelet> {
    const { nodeName, dir } = options;
    mkdirSync(dir, { recursive: true });
    const socket = join(dir, 'containerd.sock');
    const containerd = service(dir, 'containerd', 'containerd', ['--config', containerdConfig(dir, socket)]);
    try {
      await containerd.ready(async () => existsSync(socket) && (await run('ctr', ['-a', socket, 'version'])) !== '');
      for (const image of ['pause', ...options.images] as const) {
        const file = join(dir, `${image}.tar`);
        await options.docker.saveImage(IMAGES[image], file);
        await run('ctr', ['-a', socket, '-n', 'k8s.io', 'images', 'import', file]);
      }
      const address = nodeAddress();
      const [port = 0, healthzPort = 0] = await freePorts(2, '0.0.0.0');
      const config = await kubeletConfig(plane, { dir, socket, nodeName, address, port, healthzPort });
      const kubelet = service(dir, 'kubelet', binaryPath('kubelet'), [
        `--config=${config}`,
        `--kubeconfig=${await plane.nodeKubeconfig(nodeName)}`,
        `--hostname-override=${nodeName}`,
        `--node-ip=${address}`,
        `--root-dir=${join(dir, 'kubelet')}`,
        `--cert-dir=${join(dir, 'pki')}`,
      ]);
      await kubelet.ready(() => answersOk(`http://127.0.0.1:${healthzPort}/healthz`));
      return new RealKubelet(nodeName, containerd, kubelet, socket);
    } catch (error) {
      await containerd.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.#kubelet.pid;
  }

  /** Its pods are ended too: they would outlive their runtime. */
  async stop(): Promise<void> {
    await this.#kubelet.stop();
    const ctr = (...args: string[]): Promise<string> => run('ctr', ['-a', this.#socket, '-n', 'k8s.io', ...args]);
    for (const id of (await ctr('tasks', 'ls', '-q')).split('\n').filter((line) => line !== '')) {
      await ctr('tasks', 'rm', '-f', id).catch(() => {});
      await ctr('containers', 'rm', id).catch(() => {});
    }
    await this.#containerd.stop();
  }
}

function service(dir: string, name: string, command: string, args: readonly string[]): Service {
  return new Service({
    name,
    command,
    args,
    logFile: join(dir, `${name}.log`),
    pidDir: join(dir, 'pids'),
    cwd: dir,
  });
}

function containerdConfig(dir: string, socket: string): string {
  const file = join(dir, 'containerd.toml');
  writeFileSync(
    file,
    `version = 2
root = "${join(dir, 'root')}"
state = "${join(dir, 'state')}"
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${IMAGES.pause}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${join(dir, 'cni')}"
    conf_dir = "${join(dir, 'cni')}"
`,
  );
  return file;
}

async function kubeletConfig(
  plane: ControlPlaneAccess,
  at: {
    readonly dir: string;
    readonly socket: string;
    readonly nodeName: string;
    readonly address: string;
    readonly port: number;
    readonly healthzPort: number;
  },
): Promise<string> {
  const { dir } = at;
  const serving = await plane.nodeServingCert(at.nodeName, [at.address]);
  const resolvConf = join(dir, 'resolv.conf');
  writeFileSync(resolvConf, 'nameserver 127.0.0.1\n');
  const file = join(dir, 'kubelet.yaml');
  const config = {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    port: at.port,
    healthzPort: at.healthzPort,
    authentication: { anonymous: { enabled: false }, x509: { clientCAFile: plane.kubeletClientCaFile } },
    authorization: { mode: 'Webhook' },
    tlsCertFile: serving.certFile,
    tlsPrivateKeyFile: serving.keyFile,
    containerRuntimeEndpoint: `unix://${at.socket}`,
    podLogsDir: join(dir, 'pod-logs'),
    cgroupDriver: 'cgroupfs',
    cgroupRoot: '/',
    failSwapOn: false,
    failCgroupV1: false,
    resolvConf,
    enforceNodeAllocatable: [],
    evictionHard: { 'memory.available': '10Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageMaximumGCAge: '0s',
  };
  writeFileSync(file, stringify(config));
  return file;
}

async function answersOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
