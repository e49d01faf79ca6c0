import type { Provider } from '../providers/contract/index.ts';
import type { Config, NodeConfig } from './config/config.ts';
import type { ApiClient } from './kube/client.ts';
import { EventRecorder } from './kube/events.ts';
import { LeaseApi, NodeApi, watchNode } from './kube/nodes.ts';
import type { ServiceStore } from './kube/services.ts';
import { KubeletApi } from './kubelet-api.ts';
import { NodeAgent } from './node/agent.ts';
import type { PodNetworks } from './node/pod-networks.ts';
import type { NodeWatch } from './node/ports.ts';
import { podCounts } from './pod-counts.ts';
import { PodStack } from './pod-stack.ts';
import type { HealthCheck } from './server/health.ts';
import type { ServingSource } from './server/tls-files.ts';
import { openServing, type Serving } from './serving.ts';
import { Sampler } from './stats/sampler.ts';
import { selfUsage } from './stats/self-usage.ts';
import { instrumentProvider } from './telemetry/instrumented-provider.ts';
import type { Logger } from './telemetry/logger.ts';
import { NodeMetrics } from './telemetry/metrics/node-metrics.ts';
import type { ProcessMetrics } from './telemetry/metrics/process-metrics.ts';
import { untilAborted } from './util/abort.ts';
import type { Clock } from './util/clock.ts';

/** Events that are queued when the process ends get this long to leave. */
const DRAIN_MS = 2_000;
/** The watch of pods hears a bookmark each minute, and comes back within seconds where there is somebody to answer. */
const WATCH_SILENCE_MS = 600_000;

export interface VirtualNodeOptions {
  readonly config: Config;
  readonly node: NodeConfig;
  readonly provider: Provider;
  readonly productVersion: string;
  /** When this process began. */
  readonly startedAtMs: number;
  readonly setVerbosity: (verbosity: number) => void;
  /** Shared by all nodes of the process. */
  readonly client: ApiClient;
  readonly services: ServiceStore;
  readonly processMetrics: ProcessMetrics;
  readonly networks: PodNetworks;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** One node and everything it owns. Several live in one process and share nothing but what the options name. */
export class VirtualNode {
  readonly pods: PodStack;
  readonly metrics: NodeMetrics;
  readonly #options: VirtualNodeOptions;
  readonly #events: EventRecorder;
  /** Absent where the backend cannot measure. */
  readonly #sampler: Sampler | undefined;
  #agent: NodeAgent | undefined;

  constructor(options: VirtualNodeOptions) {
    this.metrics = new NodeMetrics({
      nodeName: options.node.name,
      counts: podCounts(() => this.pods),
      checks: () => this.checks,
      shared: options.processMetrics,
    });
    this.#options = {
      ...options,
      provider: instrumentProvider(options.provider, this.metrics.runtime, () => options.clock.now()),
    };
    const { config, node, provider, client, services, clock, random, log, signal } = this.#options;
    this.#events = new EventRecorder({ client, clock, log, random, nodeName: node.name, ...config.events });
    this.pods = new PodStack({
      nodeName: node.name,
      config,
      provider,
      client,
      services,
      events: this.#events,
      facts: () => this.#agent?.facts(),
      refreshNode: async (call) => this.#agent?.refresh(call),
      clock,
      random,
      log,
      metrics: this.metrics,
      signal,
    });
    if (provider.stats !== undefined)
      this.#sampler = new Sampler({ facet: provider.stats, self: selfUsage, clock, random, log });
  }

  /** What `/healthz` asks of this node. */
  get checks(): readonly HealthCheck[] {
    const { node, clock } = this.#options;
    const pleg = (): string | undefined => {
      const { healthy, lastSeenMs } = this.pods.pleg.health();
      return healthy ? undefined : `pleg was last seen active ${Math.round((clock.now() - lastSeenMs) / 1000)} s ago`;
    };
    const watch = (): string | undefined => {
      const ageMs = this.pods.watchAgeMs ?? 0;
      return ageMs <= WATCH_SILENCE_MS ? undefined : `the API server was last heard ${Math.round(ageMs / 1000)} s ago`;
    };
    return [
      { name: `pleg-${node.name}`, check: pleg },
      { name: `pod-watch-${node.name}`, check: watch },
    ];
  }

  /** Runs until the signal aborts; pods, Node and Lease stay as they are then. */
  async run(): Promise<void> {
    const { provider, log, signal } = this.#options;
    const serving = await this.#openServing();
    const server = this.#makeServer(serving.source);
    try {
      const { port } = await server.start();
      const agent = this.#makeAgent(port);
      this.#agent = agent;
      await Promise.all([
        agent.run({ signal }),
        this.pods.run(),
        this.#sampler?.run({ signal }),
        serving.certificate?.run({ signal }),
        this.#open(agent),
      ]);
    } finally {
      this.pods.workers.close();
      await server.stop();
      await this.#events.close({ signal: AbortSignal.timeout(DRAIN_MS) });
      await provider.close().catch((error: unknown) => log.warn({ err: error }, 'backend connection cannot be closed'));
    }
  }

  /** Pods move once both sources are synced and the node is known: then what survived a restart is simply already observed. */
  async #open(agent: NodeAgent): Promise<void> {
    const { signal, log } = this.#options;
    const known = Promise.withResolvers<void>();
    const stopListening = agent.onFactsChanged(() => known.resolve());
    if (agent.facts() !== undefined) known.resolve();
    // Only the signal can make it reject.
    await untilAborted(Promise.all([this.pods.synced(), known.promise]), signal).catch(() => undefined);
    stopListening();
    if (signal.aborted) return;
    this.pods.workers.open();
    log.info({ pods: [...this.pods.desired.all()].length }, 'node is open for pods');
  }

  async #openServing(): Promise<Serving> {
    const { node } = this.#options;
    let opened: Serving | undefined;
    const ttlSeconds = (): number | undefined => opened?.certificate?.ttlSeconds();
    opened = await openServing({
      ...this.#options,
      ...(node.serving.type === 'requested' && { metrics: this.metrics.servingCertificate(ttlSeconds) }),
      addresses: () => this.#agent?.addresses ?? [],
      event: (event) => {
        const uid = this.#agent?.nodeUid;
        if (uid !== undefined) this.#events.node(node.name, uid, event);
      },
    });
    return opened;
  }

  #makeServer(serving: ServingSource): KubeletApi {
    const { pods, metrics, checks } = this;
    return new KubeletApi({ ...this.#options, pods, metrics, checks, sampler: this.#sampler, serving });
  }

  #makeAgent(kubeletPort: number): NodeAgent {
    const { config, node, provider, productVersion, client, networks, clock, random, log } = this.#options;
    const watch: NodeWatch = (changed, { signal }) =>
      watchNode({
        nodeName: node.name,
        client,
        clock,
        log,
        random,
        handler: ({ type, object }) => changed(type === 'deleted' ? undefined : object),
      }).run({ signal });
    return new NodeAgent({
      config: node,
      nodeStatus: config.nodeStatus,
      declareWebSockets: config.streaming.declareWebSockets,
      productVersion,
      kubeletPort,
      provider,
      nodes: new NodeApi(client),
      leases: new LeaseApi(client),
      watch,
      events: ({ name, uid }, event) => this.#events.node(name, uid, event),
      plegHealth: () => this.pods.pleg.health(),
      networks,
      clock,
      random,
      log,
    });
  }
}
