import { isDeepStrictEqual } from 'node:util';
import type { NodeConfig, NodeStatusConfig } from '../config/config.ts';
import type { LeaseApi } from '../kube/nodes.ts';
import type { Node } from '../model/pod.ts';
import type { NodeFacts } from '../model/stores.ts';
import type { Logger } from '../telemetry/logger.ts';
import { untilAborted } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { RuntimeHealth } from './health.ts';
import { Heartbeat } from './heartbeat.ts';
import { NodeImages } from './images.ts';
import { NodeLease } from './lease.ts';
import { type PodNetworks, podNetwork } from './pod-networks.ts';
import type { HostSource, NodeEventSink, NodeObjects, NodeWatch, PlegHealth } from './ports.ts';
import { addresses, declaredFeatures, nodeFacts } from './report.ts';

/** A backend that does not answer must not keep the Node from being there. */
const FIRST_ANSWER_MS = 5_000;

export interface NodeAgentOptions {
  readonly config: NodeConfig;
  readonly nodeStatus: NodeStatusConfig;
  /** Of Outrigger itself, for nodeInfo.kubeletVersion. */
  readonly productVersion: string;
  /** The port that the kubelet API really listens on. */
  readonly kubeletPort: number;
  readonly provider: HostSource;
  /** False: the Node does not say that it takes WebSockets. */
  readonly declareWebSockets?: boolean;
  readonly nodes: NodeObjects;
  readonly leases: Pick<LeaseApi, 'get' | 'create' | 'replace'>;
  /** Makes changes of the Node known at once; without it they are seen at the next heartbeat. */
  readonly watch?: NodeWatch;
  readonly events: NodeEventSink;
  readonly plegHealth: PlegHealth;
  /** One for all nodes of the process. */
  readonly networks: Pick<PodNetworks, 'claim'>;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
}

/** Everything about one node's own objects: Node, status, Lease; and what pods need to know of it. */
export class NodeAgent {
  readonly #options: NodeAgentOptions;
  readonly #health: RuntimeHealth;
  readonly #images: NodeImages;
  readonly #heartbeat: Heartbeat;
  readonly #lease: NodeLease;
  readonly #registered = Promise.withResolvers<void>();
  readonly #listeners = new Set<() => void>();
  #node: Node | undefined;
  #facts: NodeFacts | undefined;

  constructor(options: NodeAgentOptions) {
    this.#options = options;
    const { config, provider, clock, log, random, plegHealth } = options;
    this.#health = new RuntimeHealth({ provider, clock, log, onChange: () => this.#hostChanged() });
    this.#images = new NodeImages(provider.images, clock, log);
    this.#heartbeat = new Heartbeat({
      ...options,
      health: (node) => ({
        runtime: this.#health.state,
        pleg: plegHealth(),
        networkProblem: this.#network(node).problem,
      }),
      host: () => this.#health.report,
      images: () => this.#images.current,
      onNode: (node) => this.#take(node),
      declaredFeatures: options.declareWebSockets === false ? [] : declaredFeatures(provider),
    });
    this.#lease = new NodeLease({
      nodeName: config.name,
      durationSeconds: options.nodeStatus.leaseDurationSeconds,
      leases: options.leases,
      nodeUid: () => this.#node?.metadata.uid,
      clock,
      random,
      log,
    });
  }

  /** Resolves after the signal aborted; the Node and its Lease stay. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { watch, clock } = this.#options;
    await Promise.all([
      this.#health.run({ signal }),
      this.#images.run({ signal }),
      watch?.((node) => this.#heartbeat.nodeChanged(node), { signal }),
      Promise.race([this.#health.checked, clock.sleep(FIRST_ANSWER_MS, { signal }).catch(() => {})]).then(() =>
        this.#heartbeat.run({ signal }),
      ),
      untilAborted(this.#registered.promise, signal).then(
        () => this.#lease.run({ signal }),
        () => {}, // stopped before there was a Node
      ),
    ]);
  }

  /** Undefined until the backend has answered once and the Node is there. */
  facts(): NodeFacts | undefined {
    return this.#facts;
  }

  /** The listener is told that facts() answers differently now; the returned function takes it off. */
  onFactsChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What the Node reports; empty until the backend has answered, where no address is configured. */
  get addresses(): ReturnType<typeof addresses> & object {
    return addresses(this.#options.config, this.#health.report) ?? [];
  }

  /** Of the Node as it is now; another one after it was deleted and registered again. */
  get nodeUid(): string | undefined {
    return this.#node?.metadata.uid;
  }

  /** Reads the Node anew before a pod is refused for what the cached one says (reference 6.2, NodeAffinity). */
  async refresh({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { nodes, config } = this.#options;
    const node = await nodes.get(config.name, { signal });
    if (node !== undefined) this.#take(node);
  }

  #hostChanged(): void {
    this.#updateFacts();
    this.#heartbeat.wake();
  }

  #take(node: Node | undefined): void {
    this.#node = node;
    if (node !== undefined) this.#registered.resolve();
    this.#updateFacts();
  }

  /** A Node that is deleted for a moment takes no facts away: its pods go on, and it is registered again. */
  #updateFacts(): void {
    const host = this.#health.report;
    const node = this.#node;
    if (host === undefined || node === undefined) return;
    const labels = node.metadata.labels ?? {};
    const taints = (node.spec?.taints ?? []).map(({ key, value, effect }) => ({
      key,
      effect,
      ...(value !== undefined && { value }),
    }));
    const facts = nodeFacts(this.#options.config, host, { labels, taints }, this.#network(node).cidr);
    if (isDeepStrictEqual(facts, this.#facts)) return;
    this.#facts = facts;
    for (const listener of [...this.#listeners]) listener();
  }

  #network(node: Node | undefined): ReturnType<typeof podNetwork> {
    const { config, provider, networks } = this.#options;
    return podNetwork(config, provider.traits.network.subnet, node, networks);
  }
}
