import { copyFileSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { binaryPath, buildBinaries, CONTROL_PLANE_BINARIES } from '../parts/build.ts';
import { type ControlPlane, startControlPlane } from '../parts/control-plane.ts';
import { leftOnEngine } from '../parts/docker-cleanup.ts';
import { type Engine, ensureEngine } from '../parts/dockerd.ts';
import { ensureImages } from '../parts/images.ts';
import { Kube, parseManifest } from '../parts/kube.ts';
import { Outrigger, startNode } from '../parts/outrigger.ts';
import { REPOSITORY } from '../parts/paths.ts';
import { isOnPath, tail } from '../parts/process.ts';
import type { Progress } from '../parts/progress.ts';
import { Run } from '../parts/runs.ts';
import { sleep } from '../parts/wait.ts';
import { readClientCa } from './client-ca.ts';
import { answerOf, nodeTable, podTable } from './report.ts';
import { demoDir } from './state.ts';

export interface DemoOptions {
  readonly nodeName: string;
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Pod network of the node, where the cluster gives it none. */
  readonly podCidr?: string | undefined;
}

const EXAMPLE = join(REPOSITORY, 'examples/hello.yaml');

/** Everything that `npm start` starts. After stop() nothing of it is left, however far start() came. */
export class Demo {
  readonly #options: DemoOptions;
  readonly #progress: Progress;
  readonly #run = Run.open('demo');
  #engine: Engine | undefined;
  #plane: ControlPlane | undefined;
  #node: Outrigger | undefined;
  #kube: Kube | undefined;
  #stopping = false;

  constructor(options: DemoOptions, progress: Progress) {
    this.#options = options;
    this.#progress = progress;
  }

  /** Returns what to show. */
  async start(): Promise<string> {
    const progress = this.#progress;
    this.#engine = await ensureEngine(progress);
    const { nodeName, kubeconfig } = this.#options;
    this.#run.addNode(nodeName, this.#engine.socket);
    return kubeconfig === undefined ? await this.#startAlone(this.#engine) : await this.#join(this.#engine, kubeconfig);
  }

  async #startAlone(engine: Engine): Promise<string> {
    const progress = this.#progress;
    const kubectl = isOnPath('kubectl') ? 'kubectl' : binaryPath('kubectl');
    await buildBinaries(
      [...CONTROL_PLANE_BINARIES, ...(kubectl === 'kubectl' ? [] : (['kubectl'] as const))],
      progress,
    );
    await ensureImages(engine.docker, ['pause', 'hello'], progress);
    this.#check();
    this.#plane = await startControlPlane({ dir: join(this.#run.dir, 'plane'), progress });
    this.#kube = await this.#plane.kube();
    this.#check();
    this.#node = await this.#watched(
      startNode({ plane: this.#plane, nodeName: this.#options.nodeName, dir: this.#run.dir }),
    );
    await this.#node.waitReady(this.#kube); // or the scheduler would complain first
    const kubeconfig = join(demoDir(), 'kubeconfig');
    copyFileSync(this.#plane.kubeconfig, kubeconfig); // the same place each time
    return await this.#deploy(this.#kube, kubeconfig, kubectl);
  }

  async #deploy(kube: Kube, kubeconfig: string, kubectl: string): Promise<string> {
    for (const object of parseManifest(readFileSync(EXAMPLE, 'utf8'))) await kube.apply(object);
    await this.#progress.during('waiting for the Deployment hello', () =>
      kube.waitFor('Deployment', 'hello', 'available', ({ status }) => (status?.readyReplicas ?? 0) === 2, {
        timeoutMs: 120_000,
      }),
    );
    const node = await kube.get('Node', this.#options.nodeName);
    const pods = await kube.list('Pod', 'default', { labelSelector: 'app=hello' });
    const answer = await answerOf(pods);
    return `
${nodeTable([node])}

${podTable(pods)}

GET http://${answer.address}/
${answer.text.trim()}

To look around:

  export KUBECONFIG=${kubeconfig}
  ${kubectl} get nodes,pods -o wide
  ${kubectl} logs -l app=hello --prefix
  ${kubectl} describe node ${this.#options.nodeName}
  ${kubectl} port-forward deployment/hello 8080
  ${kubectl} get --raw /api/v1/nodes/${this.#options.nodeName}/proxy/stats/summary
  ${kubectl} scale deployment hello --replicas 5
  ${kubectl} delete pod -l app=hello
`;
  }

  async #join(engine: Engine, file: string): Promise<string> {
    await ensureImages(engine.docker, ['pause'], this.#progress);
    const { nodeName, context, podCidr } = this.#options;
    const kubeconfig = resolve(process.env['INIT_CWD'] ?? process.cwd(), file); // npm runs scripts in the repository's folder
    this.#kube = await Kube.open(kubeconfig, context);
    const clientCaFile = await readClientCa(this.#kube, this.#run.dir, this.#progress);
    this.#check();
    this.#node = await this.#watched(
      Outrigger.start({
        dir: this.#run.dir,
        nodeName,
        kubeconfig,
        ...(context === undefined ? {} : { context }),
        ...(clientCaFile === undefined ? {} : { clientCaFile }),
        ...(podCidr === undefined ? {} : { args: [`--pod-cidr=${podCidr}`] }),
      }),
    );
    await this.#node.waitReady(this.#kube, 60_000);
    return `
${nodeTable([await this.#kube.get('Node', nodeName)])}

Pods that tolerate its taint and ask for it (nodeSelector type: virtual-kubelet) run here now; examples/hello.yaml shows how.
`;
  }

  async #watched(starting: Promise<Outrigger>): Promise<Outrigger> {
    return await this.#progress.during(`starting the node ${this.#options.nodeName}`, () => starting);
  }

  #check(): void {
    if (this.#stopping) throw new Error('interrupted');
  }

  /** Resolves, after saying so, when the node's program has ended by itself. */
  async ended(): Promise<void> {
    const node = this.#node;
    while (node?.running) await sleep(500);
    if (node !== undefined && !this.#stopping) this.#progress.say(`the node ended:\n${tail(node.logFile)}`);
  }

  /** Returns what could not be removed. */
  async stop(): Promise<string[]> {
    this.#stopping = true;
    await this.#node?.stop();
    // In a cluster that lives on the node goes, and its controllers then place the pods elsewhere.
    if (this.#options.kubeconfig !== undefined) {
      await this.#kube?.delete('Node', this.#options.nodeName).catch((error: unknown) => {
        this.#progress.say(`the Node ${this.#options.nodeName} could not be deleted: ${String(error)}`);
      });
    }
    this.#kube?.close();
    await this.#plane?.stop();
    await this.#run.close();
    const left = this.#engine === undefined ? [] : await leftOnEngine(this.#engine.docker, [this.#options.nodeName]);
    await this.#engine?.release();
    return left;
  }
}
