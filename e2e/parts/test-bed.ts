import { join } from 'node:path';
import { ControlPlaneAccess } from './control-plane.ts';
import { cleanNodes } from './docker-cleanup.ts';
import { DockerHttp } from './docker-http.ts';
import type { Kube } from './kube.ts';
import { type NodeOptions, type Outrigger, startNode } from './outrigger.ts';
import { Run } from './runs.ts';

/** What setup.ts started, as plain data for the test files: `inject('testBed')`. */
export interface TestBedInfo {
  readonly runDir: string;
  readonly planeDir: string;
  /** Socket of the Docker engine that has the test images. */
  readonly socket: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    testBed: TestBedInfo;
  }
}

type Options = Omit<NodeOptions, 'plane' | 'nodeName'> & {
  readonly plane?: ControlPlaneAccess;
  readonly socket?: string;
};

/** The shared control plane and engine, as a test file uses them. Close it in afterAll. */
export class TestBed {
  readonly plane: ControlPlaneAccess;
  readonly kube: Kube;
  readonly docker: DockerHttp;
  readonly run: Run;
  readonly #info: TestBedInfo;
  readonly #nodes: { readonly outrigger: Outrigger; readonly kube: Kube; readonly docker: DockerHttp }[] = [];

  private constructor(info: TestBedInfo, plane: ControlPlaneAccess, kube: Kube) {
    this.#info = info;
    this.plane = plane;
    this.kube = kube;
    this.docker = new DockerHttp(info.socket);
    this.run = new Run(info.runDir);
  }

  static async open(info: TestBedInfo): Promise<TestBed> {
    const plane = await ControlPlaneAccess.attach(info.planeDir);
    return new TestBed(info, plane, await plane.kube());
  }

  get socket(): string {
    return this.#info.socket;
  }

  /** A folder of the run for something that a test starts by itself; removed with the run. */
  folder(name: string): string {
    return join(this.#info.runDir, name);
  }

  /** A name that no node of another run on the same engine has. */
  nodeName(name: string): string {
    return `${name}-${/\d*$/.exec(this.#info.runDir)?.[0]}`;
  }

  /** Starts a node, on another control plane or engine if given, and waits until it is Ready. */
  async startNode(nodeName: string, { socket, plane = this.plane, ...options }: Options = {}): Promise<Outrigger> {
    const engine = socket ?? this.socket;
    this.run.addNode(nodeName, engine);
    const kube = plane === this.plane ? this.kube : await plane.kube();
    const outrigger = await startNode({ plane, nodeName, ...options });
    this.#nodes.push({ outrigger, kube, docker: new DockerHttp(engine) });
    await outrigger.waitReady(kube);
    return outrigger;
  }

  /** Stops the nodes that this file started and removes what they left on the engine and their Node objects. */
  async close(): Promise<void> {
    for (const { outrigger, kube, docker } of this.#nodes) {
      await outrigger.stop();
      await cleanNodes(docker, [outrigger.nodeName]).catch(() => undefined); // a test may have taken the engine away
      await kube.delete('Node', outrigger.nodeName).catch(() => undefined); // or the API server
      if (kube !== this.kube) kube.close();
    }
    this.kube.close();
  }
}
