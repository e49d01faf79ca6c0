import type {
  AttachFacet,
  CallOptions,
  ContainerRef,
  DialFacet,
  ExecFacet,
  FileFacet,
  HostReport,
  Labels,
  LogFacet,
  LogRecord,
  LogRequest,
  ObservedPod,
  PodPlanSpec,
  PodUid,
  ProviderContext,
  ProviderHint,
  ProviderTraits,
  SandboxSpec,
  StatsFacet,
  Violation,
  VolumeSpec,
} from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import { defaultSubnet } from './addresses.ts';
import type { FakeBackend } from './backend.ts';
import { FakeDialer } from './dialer.ts';
import type { FakeMethod } from './faults.ts';
import type { FakePod } from './pod.ts';
import { FakeSessions } from './sessions.ts';
import { FAKE_TRAITS } from './traits.ts';
import { FakeStats } from './usage.ts';

export type FakeContext = Pick<ProviderContext, 'nodeName' | 'ownerLabels'>;

export interface FakeProviderOptions {
  readonly traits?: Partial<ProviderTraits>;
  readonly name?: string;
  /** Answers `validate`; nothing is a violation by default. */
  readonly validate?: (spec: PodPlanSpec) => readonly Violation[];
}

/** The half that both kinds share: everything that looks, and nothing that drives. */
export abstract class FakeObserving {
  readonly name: string;
  readonly traits: ProviderTraits;
  readonly backend: FakeBackend;
  readonly logs: LogFacet = { logs: (ref, request, options) => this.#logs(ref, request, options) };
  readonly files: FileFacet = { readFile: (ref, path, options) => this.#readFile(ref, path, options) };
  readonly exec: ExecFacet;
  readonly attach: AttachFacet;
  readonly stats: StatsFacet;
  readonly dial: DialFacet;
  readonly #context: FakeContext;
  readonly #validate: (spec: PodPlanSpec) => readonly Violation[];

  constructor(backend: FakeBackend, context: FakeContext, options: FakeProviderOptions) {
    this.backend = backend;
    this.name = options.name ?? 'fake';
    this.traits = { ...FAKE_TRAITS, ...options.traits };
    const sessions = new FakeSessions({ backend, existing: (uid) => this.existing(uid) });
    this.exec = sessions;
    this.attach = sessions;
    this.stats = new FakeStats({
      backend,
      pods: () => [...backend.pods.values()].filter((pod) => this.#owns(pod.labels)),
      call: (method, call, work) => this.call(method, '', call, work),
    });
    this.dial = new FakeDialer({ backend, existing: (uid) => this.existing(uid) });
    this.#context = context;
    this.#validate = options.validate ?? (() => []);
  }

  validate(spec: PodPlanSpec): readonly Violation[] {
    return this.#validate(spec);
  }

  describeHost(options: CallOptions): Promise<HostReport> {
    const { capacity, address } = this.backend.config;
    return this.call('describeHost', this.#context.nodeName, options, () => ({
      os: 'linux',
      arch: 'amd64',
      kernelVersion: '0.0.0-fake',
      osImage: 'Fake',
      machineId: 'fake',
      systemUuid: 'fake',
      bootId: 'fake',
      runtimeName: 'fake',
      runtimeVersion: '1.0.0',
      capacity: {
        cpuMilli: Math.round(capacity.cpu * 1000),
        memoryBytes: capacity.memory,
        ephemeralBytes: capacity.ephemeralStorage,
        pods: capacity.pods,
      },
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: this.#context.nodeName },
      ],
    }));
  }

  list(options: CallOptions): Promise<readonly ObservedPod[]> {
    return this.call('list', '', options, () =>
      [...this.backend.pods.values()].filter((pod) => this.#owns(pod.labels)).map((pod) => pod.observe()),
    );
  }

  inspect(uid: PodUid, options: CallOptions): Promise<ObservedPod | undefined> {
    return this.call('inspect', uid, options, () => this.own(uid)?.observe());
  }

  watch({ signal }: CallOptions): AsyncIterable<ProviderHint> {
    this.backend.faults.open({ method: 'watch', subject: '' });
    return this.backend.hints.watch((labels) => this.#owns(labels), signal);
  }

  updateFiles(uid: PodUid, volume: Extract<VolumeSpec, { kind: 'files' }>, options: CallOptions): Promise<void> {
    return this.call('updateFiles', uid, options, () => {
      const pod = this.existing(uid);
      if (pod.volumes.get(volume.name)?.kind !== 'files')
        throw new ProviderError('NotFound', `pod ${uid} has no files volume ${volume.name}`);
      pod.volumes.set(volume.name, volume);
    });
  }

  /** Leaves the backend alone: it belongs to whoever made it. */
  async close(): Promise<void> {}

  protected call<T>(
    method: FakeMethod,
    subject: string,
    options: CallOptions,
    work: () => Promise<T> | T,
    detail?: string,
  ): Promise<T> {
    return this.backend.faults.run({ method, subject, ...(detail === undefined ? {} : { detail }) }, options, work);
  }

  /** The pod if it is one of this node's. */
  protected own(uid: PodUid): FakePod | undefined {
    const pod = this.backend.pods.get(uid);
    return pod !== undefined && this.#owns(pod.labels) ? pod : undefined;
  }

  protected existing(uid: PodUid): FakePod {
    const pod = this.own(uid);
    if (pod === undefined) throw new ProviderError('NotFound', `no such pod: ${uid}`);
    return pod;
  }

  protected createPod(sandbox: SandboxSpec, state: 'pending' | 'ready'): FakePod {
    const subnet = sandbox.network.subnet ?? defaultSubnet(this.#context.nodeName);
    return this.backend.createPod(sandbox, this.ownLabels(sandbox.labels), subnet, state);
  }

  protected ownLabels(labels: Labels): Labels {
    return { ...labels, ...this.#context.ownerLabels };
  }

  #owns(labels: Labels): boolean {
    return Object.entries(this.#context.ownerLabels).every(([key, value]) => labels[key] === value);
  }

  #readFile(
    ref: ContainerRef,
    path: string,
    options: CallOptions & { readonly maxBytes: number },
  ): Promise<Uint8Array> {
    return this.call('readFile', `${ref.podUid}/${ref.container}#${ref.attempt}`, options, () => {
      const text = this.existing(ref.podUid).find(ref.container, ref.attempt)?.file(path);
      if (text === undefined) throw new ProviderError('NotFound', `no file ${path} in ${ref.container}#${ref.attempt}`);
      const bytes = new TextEncoder().encode(text);
      return bytes.subarray(Math.max(0, bytes.length - options.maxBytes));
    });
  }

  async *#logs(ref: ContainerRef, request: LogRequest, { signal }: CallOptions): AsyncGenerator<LogRecord> {
    this.backend.faults.open({ method: 'logs', subject: `${ref.podUid}/${ref.container}#${ref.attempt}` });
    const container = this.existing(ref.podUid).find(ref.container, ref.attempt);
    if (container === undefined)
      throw new ProviderError('NotFound', `no such container: ${ref.container}#${ref.attempt}`);
    yield* container.log.read(request, signal);
  }
}
