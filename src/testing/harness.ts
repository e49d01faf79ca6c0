import {
  type PodUid,
  type Provider,
  type ProviderContext,
  ProviderError,
  type ProviderTraits,
  type VolumeSpec,
} from '../../providers/contract/index.ts';
import { FakeBackend } from '../../providers/fake/backend.ts';
import { FakeContainerProvider } from '../../providers/fake/container-provider.ts';
import { FakePodProvider } from '../../providers/fake/pod-provider.ts';
import { parseConfig } from '../../providers/fake/schema.ts';
import type { Rejection } from '../model/intent.ts';
import { type Pod, type PodStatus, podUid } from '../model/pod.ts';
import type { NodeFacts } from '../model/stores.ts';
import { Pleg } from '../pleg/pleg.ts';
import { DesiredPods } from '../pod/desired.ts';
import type { ObjectSource } from '../pod/env-objects.ts';
import { Executor } from '../pod/execute.ts';
import type { ExecutorDeps } from '../pod/executor-deps.ts';
import { Hooks } from '../pod/hooks.ts';
import { planContainers } from '../pod/plan/containers.ts';
import { withDeadline } from '../pod/plan/deadline.ts';
import { withMessages } from '../pod/plan/messages.ts';
import { planUnit } from '../pod/plan/unit.ts';
import type { ImageSource, PodEvent, StatusSink, VolumeSource } from '../pod/ports.ts';
import { Workers } from '../pod/workers.ts';
import { HookRunner } from '../probes/hook-runner.ts';
import { makeNodeFacts } from './builders.ts';
import { FakeClock, settle } from './fake-clock.ts';
import { FakeProbes } from './fake-probes.ts';
import { recordedLog } from './recorded-log.ts';
import { silentLog } from './silent-log.ts';

export interface HarnessOptions {
  readonly kind?: 'container' | 'pod';
  readonly admit?: (pod: Pod, others: readonly Pod[]) => Rejection | undefined;
  readonly refreshNode?: () => Promise<void>;
  /** ConfigMaps and Secrets for variables; none by default. */
  readonly objects?: ObjectSource;
  readonly volumes?: (pod: Pod) => readonly VolumeSpec[];
  /** The backend cannot change the files of a live pod. */
  readonly fixedContent?: boolean;
  readonly traits?: Partial<ProviderTraits>;
}

/**
 * The life of pods in memory: the real workers, planners, executors, PLEG and status over the fake backend, with time under the
 * test's control. The API server is a map: statuses are written at once, a final delete removes the object.
 */
export class Harness {
  readonly clock = new FakeClock();
  readonly backend = new FakeBackend(this.clock, parseConfig({}));
  readonly objects = new Map<PodUid, Pod>();
  readonly probes = new FakeProbes();
  /** `reason c: message` of every event, in order. */
  readonly events: string[] = [];
  /** Every status that was submitted and differs from the one before. */
  readonly statuses: PodStatus[] = [];
  /** `level message` of every line that the core has logged. */
  readonly lines: string[] = [];
  apiAway = false;
  /** A deletion is accepted, but objects stay. */
  finalizers = false;
  /** How often a final delete was asked for. */
  deletions = 0;
  /** Replaceable by a test. */
  facts: NodeFacts = makeNodeFacts();
  readonly #options: HarnessOptions;
  readonly #everUids = new Set<PodUid>();
  #process!: { stop: AbortController; workers: Workers; pleg: Pleg; desired: DesiredPods };

  constructor(options: HarnessOptions = {}) {
    this.#options = options;
  }

  get workers(): Workers {
    return this.#process.workers;
  }

  /** Starts the process: as after a boot or a crash, it knows nothing but what the API server and the backend tell. */
  async start(): Promise<void> {
    const stop = new AbortController();
    const context: ProviderContext = {
      nodeName: 'node',
      ownerLabels: { 'outrigger/node': 'node', 'outrigger/format': '1' },
      log: silentLog(),
      clock: this.clock,
      signal: stop.signal,
    };
    const { kind, traits = {}, fixedContent = false } = this.#options;
    const provider: Provider =
      kind === 'pod'
        ? new FakePodProvider(this.backend, context, { traits })
        : new FakeContainerProvider(this.backend, context, { traits });
    if (fixedContent) Object.defineProperty(provider, 'updateFiles', { value: undefined });
    this.#process = this.#build(provider, stop);
    const { pleg, desired, workers } = this.#process;
    // Ends with the abort of `crash`.
    void pleg.run({ signal: stop.signal });
    for (const pod of this.objects.values()) desired.put(pod);
    await pleg.synced;
    workers.open();
    await settle();
  }

  /** kill -9: nothing is cleaned up, nothing is handed over. */
  async crash(): Promise<void> {
    this.#process.workers.close();
    this.#process.stop.abort(new Error('killed'));
    await settle();
  }

  async create(pod: Pod): Promise<PodUid> {
    this.#everUids.add(podUid(pod));
    this.objects.set(podUid(pod), pod);
    this.#process.desired.put(pod);
    await settle();
    return podUid(pod);
  }

  /** kubectl delete. */
  async delete(uid: PodUid, graceSeconds = 30): Promise<void> {
    const pod = this.pod(uid);
    const metadata = {
      ...pod.metadata,
      deletionTimestamp: '2026-01-02T04:00:00Z',
      deletionGracePeriodSeconds: graceSeconds,
    };
    this.objects.set(uid, { ...pod, metadata });
    this.#process.desired.put(this.pod(uid));
    await settle();
  }

  /** kubectl delete --force --grace-period=0. */
  async forceDelete(uid: PodUid): Promise<void> {
    const pod = this.pod(uid);
    this.objects.delete(uid);
    this.#process.desired.remove({ ...pod, metadata: { ...pod.metadata, deletionGracePeriodSeconds: 0 } });
    await settle();
  }

  /** Pods that some part of the process still keeps something of. */
  remembered(): readonly PodUid[] {
    const { desired, pleg, workers } = this.#process;
    return [...this.#everUids].filter(
      (uid) => desired.get(uid) !== undefined || pleg.get(uid) !== undefined || workers.status(uid) !== undefined,
    );
  }

  pod(uid: PodUid): Pod {
    const pod = this.objects.get(uid);
    if (pod === undefined) throw new Error(`no pod ${uid}`);
    return pod;
  }

  status(uid: PodUid): PodStatus {
    return this.objects.get(uid)?.status ?? {};
  }

  /** Containers of the backend as `c#0 running`. */
  containers(): string[] {
    return [...this.backend.pods.values()].flatMap((pod) =>
      pod.observe().containers.map(({ name, attempt, state }) => `${name}#${attempt} ${state.status}`),
    );
  }

  #build(provider: Provider, stop: AbortController) {
    const workersRef: { current?: Workers } = {};
    const notify = (uid: PodUid, change?: 'spec' | 'stop'): void => workersRef.current?.post(uid, change);
    const log = recordedLog(this.lines);
    const { clock } = this;
    const random = (): number => 0;
    const desired = new DesiredPods(notify);
    const onRecovered = (): void => workersRef.current?.retryNow();
    const pleg = new Pleg({ provider, clock, random, log, notify, onRecovered });
    const volumes: VolumeSource = {
      resolve: async (pod) => this.#options.volumes?.(pod) ?? [],
      refreshAt: () => undefined,
      forget: () => undefined,
    };
    const events = {
      pod: (_: Pod, event: PodEvent): void => void this.events.push(`${event.reason}: ${event.message}`),
    };
    const runner = new HookRunner({
      ...(provider.exec === undefined ? {} : { exec: provider.exec }),
      ...(provider.dial === undefined ? {} : { dial: provider.dial }),
      events,
      clock,
    });
    const hooks = new Hooks({ runner, events, notify, clock, log, signal: stop.signal });
    const deps: ExecutorDeps = {
      provider,
      events,
      status: this.#statusSink(desired),
      volumes,
      images: this.#images(provider),
      services: { forNamespace: () => [] },
      objects: this.#options.objects ?? { configMap: async () => undefined, secret: async () => undefined },
      probes: this.probes,
      hooks,
      facts: () => this.facts,
      settings: { clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local', maxRestartBackoffMs: 300_000 },
      limit: (call) => call(),
      forget: (uid) => desired.forget(uid),
      clock,
      random,
      log,
    };
    const executor = new Executor(deps);
    const messages = { files: provider.files !== undefined, logs: provider.logs !== undefined };
    const workers = new Workers({
      desired,
      observed: pleg,
      backend: pleg,
      plan: withMessages(withDeadline(provider.kind === 'container' ? planContainers : planUnit), messages),
      messages,
      execute: (action, turn) => executor.run(action, turn),
      status: deps.status,
      volumes,
      probes: this.probes,
      hooks,
      facts: deps.facts,
      maxBackoffMs: 300_000,
      admit: this.#options.admit ?? (() => undefined),
      refreshNode: this.#options.refreshNode ?? (async () => {}),
      event: (pod, event) => deps.events.pod(pod, event),
      signal: stop.signal,
      clock,
      random,
      log,
    });
    workersRef.current = workers;
    return { stop, workers, pleg, desired };
  }

  #images(provider: Provider): ExecutorDeps['images'] {
    const ensure: ImageSource['ensure'] = async (_, container, __, options) => {
      if (provider.kind !== 'container') throw new Error('a pod-level backend pulls by itself');
      return { type: 'present', image: await provider.images.pullImage(container.image ?? '', [], options) };
    };
    return { ensure, auth: async () => [], forget: () => undefined };
  }

  #statusSink(desired: DesiredPods): StatusSink {
    const write = (uid: PodUid, status: PodStatus): void => {
      const pod = this.objects.get(uid);
      if (pod !== undefined) this.objects.set(uid, { ...pod, status });
    };
    const reach = (): void => {
      if (this.apiAway) throw new ProviderError('Unavailable', 'the API server is away');
    };
    return {
      submit: (pod, status) => {
        if (JSON.stringify(this.statuses.at(-1)) !== JSON.stringify(status)) this.statuses.push(status);
        if (!this.apiAway) write(podUid(pod), status);
      },
      flush: async (pod, status) => {
        reach();
        write(podUid(pod), status);
      },
      remove: async (pod) => {
        reach();
        this.deletions++;
        if (this.finalizers) return;
        this.objects.delete(podUid(pod));
        desired.remove(pod);
      },
      forget: () => undefined,
    };
  }
}

/** A harness whose process runs already. */
export async function startedHarness(options: HarnessOptions = {}): Promise<Harness> {
  const harness = new Harness(options);
  await harness.start();
  return harness;
}
