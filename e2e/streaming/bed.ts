import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildBinaries } from '../parts/build.ts';
import { buildBundle } from '../parts/bundle.ts';
import { type ControlPlane, startControlPlane } from '../parts/control-plane.ts';
import type { Engine } from '../parts/dockerd.ts';
import { ensureImages } from '../parts/images.ts';
import { isTrue, type Kube } from '../parts/kube.ts';
import { type Outrigger, startNode } from '../parts/outrigger.ts';
import { freePorts } from '../parts/ports.ts';
import type { Progress } from '../parts/progress.ts';
import { RealKubelet } from '../parts/real-kubelet.ts';
import type { Run } from '../parts/runs.ts';
import { waitFor } from '../parts/wait.ts';
import type { Lane } from './lane.ts';
import { isPlaying, type TransferPorts, transferPod } from './transfers.ts';

const NODE = 'bench-streams';
const REAL_NODE = 'bench-kubelet';
const NAMESPACE = 'default';
const FEATURE = 'ExtendWebSocketsToKubelet';

interface ApiServer {
  readonly kubeconfig: string;
  readonly pid: number;
}

export interface Target {
  readonly name: 'outrigger' | 'kubelet';
  readonly node: string;
  readonly pod: string;
  readonly pid: number;
  readonly ports: TransferPorts;
}

interface OpenOptions {
  /** Also Kubernetes' own kubelet. */
  readonly real: boolean;
  /** Options of Node for our process. */
  readonly nodeArgs?: readonly string[];
}

/** A control plane, the nodes to be compared, and a pod on each. */
export class StreamingBed {
  readonly targets: Target[] = [];
  /** Of so many bytes, for stdin. */
  readonly file: string;
  readonly #run: Run;
  readonly #engine: Engine;
  readonly #progress: Progress;
  readonly #bytes: number;
  #plane: ControlPlane | undefined;
  /** Translates for every node, also for those that take WebSockets. */
  #translating: ApiServer | undefined;
  #kube: Kube | undefined;
  #outrigger: Outrigger | undefined;
  #real: RealKubelet | undefined;

  constructor(run: Run, engine: Engine, progress: Progress, bytes: number) {
    this.#run = run;
    this.#engine = engine;
    this.#progress = progress;
    this.#bytes = bytes;
    this.file = join(run.dir, 'input');
  }

  /** Where the client is sent for this lane, and who serves it there. */
  apiServer(lane: Lane): ApiServer {
    const plane = this.#opened(this.#plane);
    return lane === 'T' ? this.#opened(this.#translating) : { kubeconfig: plane.kubeconfig, pid: plane.apiServerPid };
  }

  async open({ real, nodeArgs = [] }: OpenOptions): Promise<void> {
    const { dir } = this.#run;
    writeFileSync(this.file, '');
    truncateSync(this.file, this.#bytes);
    await buildBinaries(real ? ['kubectl', 'kubelet'] : ['kubectl'], this.#progress);
    await ensureImages(this.#engine.docker, ['pause', 'busybox'], this.#progress);
    this.#plane = await startControlPlane({
      dir: join(dir, 'plane'),
      parts: ['apiserver', 'controller-manager'],
      progress: this.#progress,
    });
    this.#translating = await this.#plane.startAnotherApiServer('translating', [`--feature-gates=${FEATURE}=false`]);
    this.#kube = await this.#plane.kube();
    await this.#startOutrigger(this.#plane, this.#kube, nodeArgs);
    if (real) await this.#startReal(this.#plane);
  }

  async #startOutrigger(plane: ControlPlane, kube: Kube, nodeArgs: readonly string[]): Promise<void> {
    this.#run.addNode(NODE, this.#engine.socket);
    this.#outrigger = await startNode({
      plane,
      nodeName: NODE,
      dir: join(this.#run.dir, 'nodes'),
      program: [...nodeArgs, ...buildBundle()],
      args: ['-v=2'],
    });
    await this.#outrigger.waitReady(kube);
    await this.#addPod('outrigger', NODE, this.#outrigger.pid);
  }

  async #startReal(plane: ControlPlane): Promise<void> {
    const dir = join(this.#run.dir, 'real');
    mkdirSync(dir);
    const { docker } = this.#engine;
    this.#real = await this.#progress.during("starting Kubernetes' own kubelet", () =>
      RealKubelet.start(plane, { nodeName: REAL_NODE, dir, docker, images: ['busybox'] }),
    );
    await this.#addPod('kubelet', REAL_NODE, this.#real.pid);
  }

  async #addPod(name: Target['name'], node: string, pid: number): Promise<void> {
    const [source = 0, sink = 0] = await freePorts(2, '0.0.0.0');
    const ports = { source, sink };
    const pod = `transfers-${name}`;
    const hostNetwork = name === 'kubelet';
    const kube = this.#opened(this.#kube);
    await kube.create(transferPod({ node, namespace: NAMESPACE }, pod, { ports, bytes: this.#bytes, hostNetwork }));
    this.targets.push({ name, node, pod, pid, ports });
    await kube.waitFor('Pod', pod, 'Ready', ({ status }) => isTrue(status?.conditions, 'Ready'), {
      timeoutMs: 120_000,
    });
    const caller = { kubeconfig: this.apiServer('R').kubeconfig, lane: 'R', pod } as const;
    await waitFor(() => isPlaying(caller), { what: `${pod} to have its data`, timeoutMs: 60_000, intervalMs: 500 });
  }

  /** How the last stream reached our node. */
  lastTransport(): string | undefined {
    const lines = this.#opened(this.#outrigger).log().split('\n');
    const last = lines.findLast((line) => line.includes('"stream opened"'));
    return last && /"transport":"(\w+)"/.exec(last)?.[1];
  }

  async close(): Promise<void> {
    const kube = this.#kube;
    if (kube !== undefined) {
      for (const { pod } of this.targets) await kube.delete('Pod', pod, { graceSeconds: 1 }).catch(() => {});
      // The engine's cleanup takes what is left.
      await Promise.all(this.targets.map(({ pod }) => kube.waitGone('Pod', pod).catch(() => {})));
      kube.close();
    }
    await this.#real?.stop();
    await this.#outrigger?.stop();
    await this.#plane?.stop();
    rmSync(this.file, { force: true });
  }

  #opened<T>(part: T | undefined): T {
    if (part === undefined) throw new Error('the test bed is not open');
    return part;
  }
}
