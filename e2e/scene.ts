import type { Container, Pod } from '../src/model/pod.ts';
import type { ContainerSummary, DockerHttp } from './parts/docker-http.ts';
import { IMAGES } from './parts/images.ts';
import { type Draft, isTrue, type Kube, type Stored } from './parts/kube.ts';
import type { Kinds } from './parts/kube-kinds.ts';
import type { Outrigger } from './parts/outrigger.ts';
import type { TestBed } from './parts/test-bed.ts';
import { waitFor } from './parts/wait.ts';

/** What a scenario may need of a provider. It says so by these, never by a provider's name. */
export type Need =
  /** Programs really run: they have files, a network, memory. */
  | 'realContainers'
  /** Outrigger itself has the images pulled, and decides when. */
  | 'imagePulls'
  /** A container that ended is started again while the others of its pod go on. */
  | 'containerRestarts'
  /** What runs outlives the process of Outrigger. */
  | 'outlivesProcess';

/** A provider in a certain configuration. */
export interface Backend {
  readonly provider: 'docker' | 'fake';
  readonly providerConfig?: object;
  readonly offers: readonly Need[];
}

export type StoredPod = Stored<Kinds['Pod']>;

/** Generous: what is late on a busy machine is not wrong. */
export const PATIENCE_MS = 120_000;

/** Nobody listens there; the fake provider is told to say so. */
export const ABSENT_IMAGE = 'localhost:1/outrigger/absent:1';

/** A container that runs until it is told to end, and then ends at once. Real shells and the fake provider both read it. */
export const UNTIL_TOLD = "trap 'exit 0' TERM; sleep 3600 & wait";

export function shell(script: string): { readonly command: string[] } {
  return { command: ['sh', '-c', script] };
}

type Spec = Partial<Pod['spec']>;

export interface Place {
  readonly kube: Kube;
  /** Name of the Node. */
  readonly node: string;
  readonly namespace: string;
}

/** One container `main` that runs until told, in a pod bound to the node, unless something else is asked for. */
export function podDraft(
  { node, namespace }: Omit<Place, 'kube'>,
  name: string,
  container: Partial<Container> = {},
  spec: Spec = {},
): Draft<'Pod'> {
  return {
    kind: 'Pod',
    metadata: { name, namespace },
    spec: {
      nodeName: node,
      terminationGracePeriodSeconds: 2,
      containers: [{ name: 'main', image: IMAGES.busybox, ...shell(UNTIL_TOLD), ...container }],
      ...spec,
    },
  };
}

export interface SceneOptions {
  readonly bed: TestBed;
  readonly outrigger: Outrigger;
  readonly namespace: string;
  /** Of another control plane than the shared one. */
  readonly kube?: Kube;
  /** Of another engine than the shared one. */
  readonly docker?: DockerHttp;
  readonly backend: Backend;
}

export interface SiblingOptions {
  readonly args?: readonly string[];
  readonly identity?: 'service-account';
}

/** What a test sees: one namespace of its own and one node. */
export class Scene implements Place {
  readonly bed: TestBed;
  readonly kube: Kube;
  readonly node: string;
  readonly namespace: string;
  readonly outrigger: Outrigger;
  readonly docker: DockerHttp;
  readonly #options: SceneOptions;

  constructor(options: SceneOptions) {
    const { bed, outrigger, namespace, kube = bed.kube, docker = bed.docker } = options;
    this.#options = options;
    this.bed = bed;
    this.kube = kube;
    this.docker = docker;
    this.outrigger = outrigger;
    this.node = outrigger.nodeName;
    this.namespace = namespace;
  }

  /** Another node of the same provider, for a test that ill-treats it; it ends with the suite. */
  async startNode(suffix: string, options: SiblingOptions = {}): Promise<Outrigger> {
    const { provider, providerConfig } = this.#options.backend;
    return await this.bed.startNode(`${this.node}-${suffix}`, {
      provider,
      ...(providerConfig === undefined ? {} : { providerConfig }),
      ...options,
    });
  }

  /** The same namespace as seen by another node. */
  on(outrigger: Outrigger): Scene {
    return new Scene({ ...this.#options, outrigger });
  }

  async create(name: string, container: Partial<Container> = {}, spec: Spec = {}): Promise<StoredPod> {
    return await this.kube.create(podDraft(this, name, container, spec));
  }

  get(name: string): Promise<StoredPod> {
    return this.kube.get('Pod', name, this.namespace);
  }

  pods(labelSelector?: string): Promise<StoredPod[]> {
    return this.kube.list('Pod', this.namespace, labelSelector === undefined ? {} : { labelSelector });
  }

  until(name: string, what: string, accept: (pod: StoredPod) => boolean): Promise<StoredPod> {
    return this.kube.waitFor('Pod', name, what, accept, { namespace: this.namespace, timeoutMs: PATIENCE_MS });
  }

  ready(name: string): Promise<StoredPod> {
    return this.until(name, 'Ready', isReady);
  }

  phase(name: string, phase: string): Promise<StoredPod> {
    return this.until(name, phase, ({ status }) => status?.phase === phase);
  }

  async delete(name: string, graceSeconds?: number): Promise<void> {
    await this.kube.delete('Pod', name, {
      namespace: this.namespace,
      ...(graceSeconds === undefined ? {} : { graceSeconds }),
    });
  }

  gone(name: string): Promise<void> {
    return this.kube.waitGone('Pod', name, { namespace: this.namespace, timeoutMs: PATIENCE_MS });
  }

  logs(name: string, options: Record<string, string> = {}): Promise<string> {
    return this.kube.logs(name, options, this.namespace);
  }

  get provider(): string {
    return this.#options.backend.provider;
  }

  /** Whether the provider offers what a part of a scenario needs (matrix.ts). */
  offers(need: Need): boolean {
    return this.#options.backend.offers.includes(need);
  }

  /** What the engine holds for a pod, sandbox included. */
  containersOf(uid: string): Promise<ContainerSummary[]> {
    return this.docker.containers(`io.kubernetes.pod.uid=${uid}`);
  }

  /** `Normal Pulled Container image … (x2)`, once one of them matches. */
  async event(name: string, pattern: RegExp): Promise<string> {
    let lines = '';
    return await waitFor(
      async () => {
        lines = await this.kube.eventLines(name, this.namespace);
        return lines.split('\n').find((line) => pattern.test(line));
      },
      { what: `an event of ${name} like ${pattern}`, timeoutMs: PATIENCE_MS, detail: () => lines },
    );
  }
}

export function isReady({ status }: StoredPod): boolean {
  return isTrue(status?.conditions, 'Ready');
}

type ContainerStatus = NonNullable<NonNullable<StoredPod['status']>['containerStatuses']>[number];

export function containerStatus(pod: StoredPod, name = 'main'): ContainerStatus {
  const found = pod.status?.containerStatuses?.find((status) => status.name === name);
  if (found === undefined) throw new Error(`pod ${pod.metadata.name} tells nothing of a container ${name}`);
  return found;
}

export function restarts(pod: StoredPod, name = 'main'): number {
  return pod.status?.containerStatuses?.find((status) => status.name === name)?.restartCount ?? 0;
}

/** Asks until the answer is yes; the error names what was waited for. */
export function eventually<T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = PATIENCE_MS,
): Promise<T> {
  return waitFor(check, { what, timeoutMs });
}
