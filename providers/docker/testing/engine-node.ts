import { randomUUID } from 'node:crypto';
import Docker from 'dockerode';
import { systemClock } from '../../../src/util/clock.ts';
import type {
  ContainerProvider,
  ContainerRef,
  ContainerSpec,
  ObservedContainer,
  PodUid,
  ProviderContext,
  SandboxSpec,
} from '../../contract/index.ts';
import { provider, removeEverything } from '../index.ts';
import { parseConfig } from '../schema.ts';

export const BUSYBOX = 'registry.k8s.io/e2e-test-images/busybox:1.37.0-1';
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A node of its own on the engine of the test bed, and everything it makes. */
export class EngineNode {
  readonly name = `it-${randomUUID().slice(0, 8)}`;
  /** Engines are shared, so the range is drawn from many. */
  readonly subnet = `10.${200 + Math.floor(Math.random() * 50)}.${Math.floor(Math.random() * 256)}.0/24`;
  readonly docker: Docker;
  readonly socket: string;
  readonly context: ProviderContext;
  readonly options: { readonly signal: AbortSignal };
  readonly #abort = new AbortController();
  readonly #opened: ContainerProvider[] = [];

  constructor(socket: string) {
    this.socket = socket;
    this.docker = new Docker({ socketPath: socket });
    const { signal } = this.#abort;
    const ownerLabels = { 'outrigger/node': this.name, 'outrigger/format': '1' };
    this.context = { nodeName: this.name, ownerLabels, log: silent, clock: systemClock, signal };
    this.options = { signal };
  }

  /** A provider as a freshly started process has it. */
  async open(config: object = {}, context: Partial<ProviderContext> = {}): Promise<ContainerProvider> {
    const own = { ...this.context, ...context };
    const opened = await provider.create(parseConfig({ socketPath: this.socket, ...config }), own);
    if (opened.kind !== 'container') throw new Error('not a container provider');
    this.#opened.push(opened);
    return opened;
  }

  sandbox(overrides: Partial<SandboxSpec> = {}): SandboxSpec {
    // Here UIDs are born.
    const uid = randomUUID() as PodUid;
    return {
      pod: { uid, namespace: 'it', name: `pod-${uid.slice(0, 8)}` },
      attempt: 0,
      hostname: 'host-of-pod',
      network: { mode: 'pod', subnet: this.subnet, ports: [], hostAliases: [] },
      volumes: [],
      sharePidNamespace: false,
      labels: {},
      hints: {},
      ...overrides,
    };
  }

  shell(script: string, overrides: Partial<ContainerSpec> = {}): ContainerSpec {
    return {
      name: 'main',
      attempt: 0,
      role: 'main',
      image: BUSYBOX,
      command: ['sh', '-c', script],
      env: [],
      mounts: [],
      resources: {},
      security: {},
      terminal: { tty: false, stdin: false, stdinOnce: false },
      labels: {},
      ...overrides,
    };
  }

  async until(
    from: ContainerProvider,
    ref: ContainerRef,
    accept: (container: ObservedContainer | undefined) => boolean,
  ): Promise<ObservedContainer | undefined> {
    for (let tries = 0; tries < 300; tries++) {
      const pod = await from.inspect(ref.podUid, this.options);
      const found = pod?.containers.find(({ name, attempt }) => name === ref.container && attempt === ref.attempt);
      if (accept(found)) return found;
      await systemClock.sleep(50, this.options);
    }
    throw new Error(`${ref.container}#${ref.attempt} did not get there`);
  }

  async output(from: ContainerProvider, ref: ContainerRef, follow = true): Promise<string> {
    let text = '';
    for await (const record of from.logs?.logs(ref, { follow }, this.options) ?? []) {
      text += Buffer.from(record.line).toString() + (record.partial ? '' : '\n');
    }
    return text;
  }

  /** Starts one container and gives what it wrote until its end. */
  async run(from: ContainerProvider, sandbox: SandboxSpec, spec: ContainerSpec): Promise<string> {
    await from.startContainer(sandbox, spec, this.options);
    return this.output(from, refOf(sandbox, spec));
  }

  async networks(): Promise<readonly Docker.NetworkInspectInfo[]> {
    return this.docker.listNetworks({ filters: { label: [`outrigger/node=${this.name}`] } });
  }

  async dispose(): Promise<void> {
    await removeEverything(parseConfig({ socketPath: this.socket }), this.context);
    for (const opened of this.#opened) await opened.close();
    this.#abort.abort();
  }
}

export function refOf(sandbox: SandboxSpec, spec: Pick<ContainerSpec, 'name' | 'attempt'>): ContainerRef {
  return { podUid: sandbox.pod.uid, container: spec.name, attempt: spec.attempt };
}
