import PQueue from 'p-queue';
import type { ContainerSpec, PodPlanSpec, PodUid, Provider } from '../providers/contract/index.ts';
import type { Config } from './config/config.ts';
import { ImagePuller } from './images/puller.ts';
import { ClaimApi } from './kube/claims.ts';
import type { ApiClient } from './kube/client.ts';
import type { EventRecorder } from './kube/events.ts';
import { ObjectCache } from './kube/objects.ts';
import { PodApi, watchPods } from './kube/pods.ts';
import type { Reflector } from './kube/reflector.ts';
import { RuntimeClassApi } from './kube/runtime-classes.ts';
import type { ServiceStore } from './kube/services.ts';
import { TokenApi } from './kube/tokens.ts';
import { TrustBundleApi } from './kube/trust-bundles.ts';
import type { Rejection } from './model/intent.ts';
import { type Container, graceSeconds, type Pod, podUid, restartPolicy } from './model/pod.ts';
import type { NodeFacts } from './model/stores.ts';
import { Pleg } from './pleg/pleg.ts';
import { admit } from './pod/admit.ts';
import { DesiredPods } from './pod/desired.ts';
import { Executor } from './pod/execute.ts';
import type { ExecutorDeps } from './pod/executor-deps.ts';
import { Hooks } from './pod/hooks.ts';
import { planContainers } from './pod/plan/containers.ts';
import { withDeadline } from './pod/plan/deadline.ts';
import { withMessages } from './pod/plan/messages.ts';
import { planUnit } from './pod/plan/unit.ts';
import { Workers } from './pod/workers.ts';
import { HookRunner } from './probes/hook-runner.ts';
import { Prober } from './probes/prober.ts';
import { ContainerConfigError } from './spec/config-error.ts';
import { buildContainer } from './spec/container.ts';
import { podDns } from './spec/dns.ts';
import { buildSandbox } from './spec/sandbox.ts';
import { firstUnsupported } from './spec/unsupported.ts';
import { firstUnreadableEnvFile } from './spec/unsupported-env.ts';
import { firstUnreadableMessage } from './spec/unsupported-message.ts';
import { firstUnaskableProbe } from './spec/unsupported-probe.ts';
import { StatusWriter } from './status/writer.ts';
import type { Logger } from './telemetry/logger.ts';
import type { NodeMetrics } from './telemetry/metrics/node-metrics.ts';
import type { Clock } from './util/clock.ts';
import { changesDownward } from './volumes/downward.ts';
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
    const runner = new HookRunner({
      ...(provider.exec === undefined ? {} : { exec: provider.exec }),
      ...(provider.dial === undefined ? {} : { dial: provider.dial }),
      events: options.events,
      clock,
    });
    const hooks = new Hooks({ runner, events: options.events, notify, clock, log, signal });
    const deps = this.#executorDeps(probes, hooks);
    const executor = new Executor(deps);
    const messages = { files: provider.files !== undefined, logs: provider.logs !== undefined };
    this.workers = new Workers({
      desired: this.desired,
      observed: this.pleg,
      backend: this.pleg,
      plan: withMessages(withDeadline(provider.kind === 'container' ? planContainers : planUnit), messages),
      messages,
      execute: (action, turn) => executor.run(action, turn),
      status: this.writer,
      volumes: deps.volumes,
      probes,
      hooks,
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
    const uid = podUid(pod);
    const before = this.desired.get(uid)?.pod;
    this.desired.put(pod);
    if (before !== undefined && changesDownward(before, pod)) this.workers.volumesChanged(uid);
  }

  #executorDeps(probes: Prober, hooks: Hooks): ExecutorDeps {
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
    const secret = (uid: PodUid, namespace: string, name: string, call: { readonly signal: AbortSignal }) => {
      objects.acquire(uid, 'Secret', namespace, name);
      return objects.get('Secret', namespace, name, call);
    };
    const configMap = (uid: PodUid, namespace: string, name: string, call: { readonly signal: AbortSignal }) => {
      objects.acquire(uid, 'ConfigMap', namespace, name);
      return objects.get('ConfigMap', namespace, name, call);
    };
    return {
      provider,
      events,
      status: this.writer,
      services,
      objects: { configMap, secret },
      probes,
      hooks,
      runtimeHandler: (name, call) => new RuntimeClassApi(client).handler(name, call),
      metrics: this.#options.metrics.pods,
      facts,
      volumes: new Volumes({
        clock,
        random,
        log,
        requestToken: ({ pod, serviceAccount, audiences, expirationSeconds }, { signal: call }) =>
          tokens.request(pod, serviceAccount, { audiences, expirationSeconds, signal: call }),
        configMap,
        secret,
        releasePod: (uid) => objects.releasePod(uid),
        trustBundles: (call) => new TrustBundleApi(client, call.signal),
        claims: (call) => new ClaimApi(client, call.signal),
        allocatable: () => facts()?.allocatable,
        seenMs: (uid) => this.desired.seenMs(uid),
      }),
      images: new ImagePuller({
        ...(provider.kind === 'container' ? { images: provider.images } : {}),
        secret,
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
    const { exec, dial, files, logs } = provider;
    const facets = {
      exec: exec !== undefined,
      dial: dial !== undefined,
      files: files !== undefined,
      logs: logs !== undefined,
    };
    const unsupported =
      firstUnsupported(pod, provider.traits) ??
      firstUnaskableProbe(pod, facets) ??
      firstUnreadableMessage(pod, facets) ??
      firstUnreadableEnvFile(pod, provider.readVolumeFile !== undefined);
    const violations = unsupported === undefined ? provider.validate(this.#outline(pod, node)) : [];
    return admit({ pod, others, facts: node, violations, ...(unsupported === undefined ? {} : { unsupported }) });
  }

  /** The pod as far as it is known without asking anybody: no content of volumes, no environment (contract: validate). */
  #outline(pod: Pod, facts: NodeFacts): PodPlanSpec {
    const { provider, config } = this.#options;
    const { dns } = podDns(pod, { servers: config.clusterDns, domain: config.clusterDomain });
    return {
      sandbox: buildSandbox({
        pod,
        attempt: 0,
        volumes: [],
        facts,
        // A name that is too long fails the sandbox, not the admission.
        names: { hostname: '' },
        dns,
        hintsPrefix: `${provider.name}.outrigger/`,
      }),
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
