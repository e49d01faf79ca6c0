import { randomUUID } from 'node:crypto';
import type {
  ContainerProvider,
  ContainerRef,
  ContainerSpec,
  LogRecord,
  LogRequest,
  ObservedContainer,
  ObservedPod,
  PodPlanSpec,
  PodUid,
  Provider,
  SandboxSpec,
} from '../contract/index.ts';
import { isProviderError } from '../contract/index.ts';
import { type ConformanceHarness, NODE } from './harness.ts';

/** The longest that a backend may take for anything a test waits for. */
const PATIENCE_MS = 30_000;
const STEP_MS = 50;

/** What one test has in its hands. Every pod it makes is removed after it. */
export class World {
  readonly harness: ConformanceHarness;
  readonly abort = new AbortController();
  readonly options = { signal: this.abort.signal };
  readonly #opened = new Set<Provider>();
  readonly #uids = new Map<PodUid, Provider>();

  constructor(harness: ConformanceHarness) {
    this.harness = harness;
  }

  /** A further provider; it is closed with this world. */
  async open(node: string): Promise<Provider> {
    const provider = await this.harness.open(node);
    this.#opened.add(provider);
    return provider;
  }

  /** Closes a provider now and opens another one for its node, which then owns the pods of the first. */
  async restart(provider: Provider, node: string): Promise<Provider> {
    await provider.close();
    this.#opened.delete(provider);
    const again = await this.open(node);
    for (const [uid, owner] of this.#uids) if (owner === provider) this.#uids.set(uid, again);
    return again;
  }

  sandbox(provider: Provider, overrides: Partial<SandboxSpec> = {}, node = NODE): SandboxSpec {
    // A parsed edge: here UIDs are born.
    const uid = randomUUID() as PodUid;
    this.#uids.set(uid, provider);
    const subnet = provider.traits.network.subnet === 'required' ? { subnet: this.harness.subnet(node) } : {};
    return {
      pod: { uid, namespace: 'conformance', name: `pod-${uid.slice(0, 8)}` },
      attempt: 0,
      hostname: `pod-${uid.slice(0, 8)}`,
      network: { mode: 'pod', ports: [], hostAliases: [], ...subnet },
      volumes: [],
      sharePidNamespace: false,
      labels: { 'example.com/tier': 'pod "label"' },
      hints: {},
      ...overrides,
    };
  }

  container(overrides: Partial<ContainerSpec> = {}): ContainerSpec {
    return {
      name: 'main',
      attempt: 0,
      role: 'main',
      image: this.harness.shellImage,
      command: ['sleep', '3600'],
      env: [],
      mounts: [],
      resources: {},
      security: {},
      terminal: { tty: false, stdin: false, stdinOnce: false },
      labels: { 'example.com/part': 'container = label' },
      ...overrides,
    };
  }

  /** `sh -c script` in place of the container's command. */
  shell(script: string, overrides: Partial<ContainerSpec> = {}): ContainerSpec {
    return this.container({ command: ['sh', '-c', script], ...overrides });
  }

  plan(sandbox: SandboxSpec, containers: readonly ContainerSpec[], overrides: Partial<PodPlanSpec> = {}): PodPlanSpec {
    return { sandbox, containers, restartPolicy: 'Never', graceSeconds: 30, registryAuth: [], ...overrides };
  }

  /** A sandbox with the shell image at hand. */
  async ready(provider: ContainerProvider, overrides: Partial<SandboxSpec> = {}, node = NODE): Promise<SandboxSpec> {
    const sandbox = this.sandbox(provider, overrides, node);
    await this.haveImage(provider);
    await provider.ensureSandbox(sandbox, this.options);
    return sandbox;
  }

  async haveImage(provider: ContainerProvider): Promise<void> {
    const image = this.harness.shellImage;
    if ((await provider.images.imagePresent(image, this.options)) === undefined)
      await provider.images.pullImage(image, [], this.options);
  }

  /** Polls until `accept` holds; fails with what was seen last. */
  async eventually<T>(what: string, read: () => Promise<T>, accept: (value: T) => boolean): Promise<T> {
    for (let waited = 0; ; waited += STEP_MS) {
      const value = await read();
      if (accept(value)) return value;
      if (waited >= PATIENCE_MS)
        throw new Error(`${what}: not within ${PATIENCE_MS} ms; last seen ${JSON.stringify(value)}`);
      await this.harness.pass(STEP_MS);
    }
  }

  async pod(provider: Provider, uid: PodUid): Promise<ObservedPod> {
    const pod = await provider.inspect(uid, this.options);
    if (pod === undefined) throw new Error(`the backend knows nothing of pod ${uid}`);
    return pod;
  }

  /** Waits for a container to be in `status`. */
  async until<Status extends ObservedContainer['state']['status']>(
    provider: Provider,
    ref: ContainerRef,
    status: Status,
  ): Promise<ObservedContainer & { state: Extract<ObservedContainer['state'], { status: Status }> }> {
    const seen = await this.eventually(
      `${ref.container}#${ref.attempt} ${status}`,
      async () => find(await provider.inspect(ref.podUid, this.options), ref),
      (container) => container?.state.status === status,
    );
    // `accept` above has just checked the status; the compiler cannot see through it.
    return seen as ObservedContainer & { state: Extract<ObservedContainer['state'], { status: Status }> };
  }

  /** Starts one container of a fresh pod and waits for its end; gives its output. */
  async runToEnd(provider: ContainerProvider, sandbox: SandboxSpec, spec: ContainerSpec) {
    await provider.startContainer(sandbox, spec, this.options);
    const ref = refOf(sandbox, spec);
    const { state } = await this.until(provider, ref, 'exited');
    return { state, output: await this.output(provider, ref) };
  }

  async records(provider: Provider, ref: ContainerRef, request: Partial<LogRequest> = {}): Promise<LogRecord[]> {
    const records: LogRecord[] = [];
    for await (const record of provider.logs?.logs(ref, { follow: false, ...request }, this.options) ?? [])
      records.push(record);
    return records;
  }

  /** Both streams as text, one line per record. */
  async output(provider: Provider, ref: ContainerRef, request: Partial<LogRequest> = {}): Promise<string[]> {
    return (await this.records(provider, ref, request)).map(textOf);
  }

  async dispose(): Promise<void> {
    for (const [uid, provider] of this.#uids) {
      try {
        if (provider.kind === 'container') await provider.removeSandbox(uid, this.options);
        else await provider.removePod(uid, this.options);
      } catch (error: unknown) {
        if (!isProviderError(error, 'NotFound')) throw error;
      }
    }
    this.abort.abort();
    for (const provider of this.#opened) await provider.close();
  }
}

export function refOf(sandbox: SandboxSpec, spec: Pick<ContainerSpec, 'name' | 'attempt'>): ContainerRef {
  return { podUid: sandbox.pod.uid, container: spec.name, attempt: spec.attempt };
}

function find(pod: ObservedPod | undefined, ref: ContainerRef): ObservedContainer | undefined {
  return pod?.containers.find(({ name, attempt }) => name === ref.container && attempt === ref.attempt);
}

export function textOf(record: LogRecord): string {
  return new TextDecoder().decode(record.line);
}

/** For removals the core takes NotFound for success. */
export async function settleRemoval(removal: Promise<void>): Promise<void> {
  try {
    await removal;
  } catch (error: unknown) {
    if (!isProviderError(error, 'NotFound')) throw error;
  }
}
