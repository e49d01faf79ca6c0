import PQueue from 'p-queue';
import type { ContainerSpec, PodPlanSpec, PodUid, Provider } from '../providers/contract/index.ts';
import type { Config } from './config/config.ts';
import { ImagePuller } from './images/puller.ts';
import type { ApiClient } from './kube/client.ts';
import type { EventRecorder } from './kube/events.ts';
import { ObjectCache } from './kube/objects.ts';
import { PodApi, watchPods } from './kube/pods.ts';
import type { Reflector } from './kube/reflector.ts';
import type { ServiceStore } from './kube/services.ts';
import { TokenApi } from './kube/tokens.ts';
import type { Rejection } from './model/intent.ts';
import { type Container, graceSeconds, type Pod, restartPolicy } from './model/pod.ts';
import type { NodeFacts } from './model/stores.ts';
import { Pleg } from './pleg/pleg.ts';
import { admit } from './pod/admit.ts';
import { DesiredPods } from './pod/desired.ts';
import { Executor } from './pod/execute.ts';
import type { ExecutorDeps } from './pod/executor-deps.ts';
import { planContainers } from './pod/plan/containers.ts';
import { planUnit } from './pod/plan/unit.ts';
import { Workers } from './pod/workers.ts';
import { Prober } from './probes/prober.ts';
import { ContainerConfigError } from './spec/config-error.ts';
import { buildContainer } from './spec/container.ts';
import { podDns } from './spec/dns.ts';
import { buildSandbox } from './spec/sandbox.ts';
import { firstUnsupported } from './spec/unsupported.ts';
import { firstUnaskableProbe } from './spec/unsupported-probe.ts';
import { StatusWriter } from './status/writer.ts';
import type { Logger } from './telemetry/logger.ts';
import type { NodeMetrics } from './telemetry/metrics/node-metrics.ts';
import type { Clock } from './util/clock.ts';
import { Volumes } from './volumes/volumes.ts';

/** Driving calls at a time on one backend: enough to start a ReplicaSet quickly, not so many that each of them crawls. */
const DRIVING_CALLS = 16;

export interface PodStackOptions {
  readonly nodeName: string;
  readonly config: Config;
  readonly provider: Provider;
  readonly client: ApiClient;
  readonly services: ServiceStore;
  readonly events: EventRecorder;
  readonly facts: () => NodeFacts | undefined;
  readonly refreshNode: (options: { readonly signal: AbortSignal }) => Promise<unknown>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Life of the node. */
  readonly metrics: NodeMetrics;
  readonly signal: AbortSignal;
}

/** Everything that carries the pods of one node: built by hand, once, in the order in which the parts need each other. */
export class PodStack {
  readonly desired: DesiredPods;
  readonly pleg: Pleg;
  readonly workers: Workers;
  readonly writer: StatusWriter;
  readonly #options: PodStackOptions;
  readonly #source: Reflector<Pod>;
  readonly #driving = new PQueue({ concurrency: DRIVING_CALLS });

  constructor(options: PodStackOptions) {
    this.#options = options;
    const { nodeName, provider, client, clock, random, log, signal, facts, metrics } = options;
    const notify = (uid: PodUid, change?: 'spec' | 'stop'): void => this.workers.post(uid, change);
    this.desired = new DesiredPods(notify, () => clock.now());
    const onRecovered = (): void => this.workers.retryNow();
    this.pleg = new Pleg({ provider, clock, random, log, notify, metrics: metrics.pleg, onRecovered });
    this.writer = new StatusWriter({ pods: new PodApi(client), clock, log, signal, random, metrics: metrics.pods });
    const probes = new Prober({
      ...(provider.exec === undefined ? {} : { exec: provider.exec }),
      ...(provider.dial === undefined ? {} : { dial: provider.dial }),
      events: options.events,
      notify,
      metrics: metrics.probes,
      processStartMs: clock.now(),
      clock,
      random,
      log,
      signal,
    });
    const deps = this.#executorDeps(probes);
    const executor = new Executor(deps);
    this.workers = new Workers({
      desired: this.desired,
      observed: this.pleg,
      backend: this.pleg,
      plan: provider.kind === 'container' ? planContainers : planUnit,
      execute: (action, turn) => executor.run(action, turn),
      status: this.writer,
      volumes: deps.volumes,
      probes,
      metrics: metrics.pods,
      facts,
      maxBackoffMs: options.config.maxRestartBackoffMs,
      admit: (pod, others) => this.#admit(pod, others),
      refreshNode: options.refreshNode,
      event: (pod, event) => options.events.pod(pod, event),
      signal,
      clock,
      random,
      log,
    });
    this.#source = watchPods({
      nodeName,
      client,
      clock,
      log,
      random,
      handler: (delta) => this.#onPod(delta.type, delta.object),
    });
    metrics.watches.add({
      resource: 'pods',
      ageMs: () => this.#source.lastByteAgeMs,
      restarts: () => this.#source.restarts,
      relists: () => this.#source.relists,
    });
  }

  /** Resolves when the API server and the backend have both been listed once. */
  async synced(): Promise<void> {
    await Promise.all([this.#source.synced, this.pleg.synced]);
  }

  /** Milliseconds since the API server last said anything about pods; undefined before the first word. */
  get watchAgeMs(): number | undefined {
    return this.#source.lastByteAgeMs;
  }

  /** Driving calls that wait for others to end. */
  get waitingCalls(): number {
    return this.#driving.size;
  }

  /** The pod that has this name now: of several with the same name, the one that the API server still knows. */
  find(namespace: string, name: string): Pod | undefined {
    for (const { pod, stop } of this.desired.all()) {
      if (pod.metadata.namespace === namespace && pod.metadata.name === name && stop?.type !== 'removed') return pod;
    }
    return undefined;
  }

  /** Follows the API server and the backend until the signal aborts. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    await Promise.all([this.#source.run({ signal }), this.pleg.run({ signal })]);
  }

  #onPod(type: 'added' | 'modified' | 'deleted', pod: Pod): void {
    if (type === 'deleted') {
      this.desired.remove(pod);
      return;
    }
    this.writer.observeApi(pod);
    this.desired.put(pod);
  }

  #executorDeps(probes: Prober): ExecutorDeps {
    const { provider, client, clock, random, log, signal, events, services, facts, config } = this.#options;
    const objects = new ObjectCache({
      client,
      clock,
      log,
      signal,
      random,
      // UIDs of pods by construction: acquire() below is called with nothing else.
      onChange: (uids) => {
        for (const uid of uids) this.workers.volumesChanged(uid as PodUid);
      },
    });
    const tokens = new TokenApi(client, clock);
    return {
      provider,
      events,
      status: this.writer,
      services,
      probes,
      metrics: this.#options.metrics.pods,
      facts,
      volumes: new Volumes({
        clock,
        random,
        log,
        requestToken: ({ pod, serviceAccount, audiences, expirationSeconds }, { signal: call }) =>
          tokens.request(pod, serviceAccount, { audiences, expirationSeconds, signal: call }),
        configMap: (uid, namespace, name, call) => {
          objects.acquire(uid, 'ConfigMap', namespace, name);
          return objects.get('ConfigMap', namespace, name, call);
        },
        releasePod: (uid) => objects.releasePod(uid),
        allocatableMemoryBytes: () => facts()?.allocatable.memoryBytes,
      }),
      images: new ImagePuller({
        ...(provider.kind === 'container' ? { images: provider.images } : {}),
        secret: (uid, namespace, name, call) => {
          objects.acquire(uid, 'Secret', namespace, name);
          return objects.get('Secret', namespace, name, call);
        },
        events,
        clock,
        log,
        limits: config.images,
        metrics: this.#options.metrics.images,
      }),
      settings: {
        clusterDns: config.clusterDns,
        clusterDomain: config.clusterDomain,
        maxRestartBackoffMs: config.maxRestartBackoffMs,
        ...(config.podPidsLimit === undefined ? {} : { podPidsLimit: config.podPidsLimit }),
      },
      limit: (call) => this.#driving.add(call),
      forget: (uid) => this.desired.forget(uid),
      clock,
      random,
      log,
    };
  }

  #admit(pod: Pod, others: readonly Pod[]): Rejection | undefined {
    const { facts, provider } = this.#options;
    const node = facts();
    // The workers open only after the node is known (virtual-node.ts).
    if (node === undefined) throw new Error('a pod was to be admitted before the node is known');
    const facets = { exec: provider.exec !== undefined, dial: provider.dial !== undefined };
    const unsupported = firstUnsupported(pod, provider.traits) ?? firstUnaskableProbe(pod, facets);
    const violations = unsupported === undefined ? provider.validate(this.#outline(pod, node)) : [];
    return admit({ pod, others, facts: node, violations, ...(unsupported === undefined ? {} : { unsupported }) });
  }

  /** The pod as far as it is known without asking anybody: no content of volumes, no environment (contract: validate). */
  #outline(pod: Pod, facts: NodeFacts): PodPlanSpec {
    const { provider, config } = this.#options;
    const { dns } = podDns(pod, { servers: config.clusterDns, domain: config.clusterDomain });
    return {
      sandbox: buildSandbox({ pod, attempt: 0, volumes: [], facts, dns, hintsPrefix: `${provider.name}.outrigger/` }),
      containers: pod.spec.containers.flatMap((container) => outlineContainer(pod, container)),
      restartPolicy: restartPolicy(pod),
      graceSeconds: graceSeconds(pod),
      registryAuth: [],
    };
  }
}

/** A container that cannot be described (runAsNonRoot against its user) is not the backend's to judge: its start tells why. */
function outlineContainer(pod: Pod, container: Container): readonly ContainerSpec[] {
  try {
    return [buildContainer({ pod, container, attempt: 0, env: [] })];
  } catch (error: unknown) {
    if (error instanceof ContainerConfigError) return [];
    throw error;
  }
}
