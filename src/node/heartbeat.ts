import type { NodeConfig, NodeStatusConfig } from '../config/config.ts';
import type { NodeStatus } from '../kube/nodes.ts';
import type { Node } from '../model/pod.ts';
import type { Logger } from '../telemetry/logger.ts';
import { backoffDelayMs, withJitter } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { type NodeHealth, readyProblems } from './conditions.ts';
import { conditionEvents, rebootEvent, STARTING, schedulableEvent } from './events.ts';
import type { NodeEvent, NodeEventSink, NodeObjects } from './ports.ts';
import { missingLabels, newNode, reconciledMetadata } from './registration.ts';
import type { ListedImage } from './report.ts';
import { changedStatus, nodeStatus, type StatusInput } from './status.ts';
import { Waker } from './waker.ts';

const UPDATE_JITTER = 0.04;
const RETRY = { baseMs: 200, maxMs: 7_000 };
/** Until Ready was posted for the first time, but no longer than this, the Node is looked at every second (reference 5.8). */
const FAST_START_MS = 120_000;
const FAST_PAUSE_MS = 1_000;
/** Between two rounds, however often somebody wakes us: a Node that others keep changing must not become a busy loop. */
const MIN_PAUSE_MS = 100;

export interface HeartbeatOptions {
  readonly config: NodeConfig;
  readonly nodeStatus: NodeStatusConfig;
  readonly productVersion: string;
  readonly kubeletPort: number;
  /** `status.declaredFeatures`: sorted, each once, or the API server refuses the status (reference 5.9). */
  readonly declaredFeatures: readonly string[];
  readonly nodes: NodeObjects;
  readonly events: NodeEventSink;
  /** As it is now; `node` is the latest that the API server gave. */
  readonly health: (node: Node | undefined) => NodeHealth;
  readonly host: () => StatusInput['host'];
  readonly images: () => readonly ListedImage[] | undefined;
  /** The own Node as the API server has it; undefined while there is none. */
  readonly onNode: (node: Node | undefined) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
}

/**
 * Keeps the Node object there and its status true: registers it, again when somebody deleted it, patches what changed, and repeats an
 * unchanged status now and then. Every round starts from a GET: nothing here depends on what this process wrote before.
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #waker: Waker;
  #node: Node | undefined;
  /** UID of the Node that was registered or reconciled by this process. */
  #registeredUid: string | undefined;
  #started = false;
  #everReady = false;
  #unschedulable = false;
  #waitingLogged = false;
  #problems = '';
  #failures = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #reportDelayMs = 0;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#waker = new Waker(options.clock);
  }

  /** Something that the status tells has changed. */
  wake(): void {
    this.#waker.wake();
  }

  /** A hint of the watch; our own writes come back as one, too. */
  nodeChanged(node: Node | undefined): void {
    if (node === undefined || node.metadata.resourceVersion !== this.#node?.metadata.resourceVersion) this.wake();
  }

  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clock } = this.#options;
    const startedAt = clock.now();
    while (!signal.aborted) {
      await this.#roundLogged(signal);
      await clock.sleep(MIN_PAUSE_MS, { signal }).catch(() => {}); // only an abort rejects; the loop's condition sees it
      const fast = !this.#everReady && clock.now() - startedAt < FAST_START_MS;
      await this.#waker.wait(this.#pauseMs(fast) - MIN_PAUSE_MS, { signal });
    }
  }

  #pauseMs(fast: boolean): number {
    const { random, nodeStatus: settings } = this.#options;
    const regular = withJitter(fast ? FAST_PAUSE_MS : settings.updateFrequencyMs, UPDATE_JITTER, random);
    if (this.#failures === 0) return regular;
    return Math.min(settings.updateFrequencyMs, withJitter(backoffDelayMs(RETRY, this.#failures), 0.5, random));
  }

  async #roundLogged(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#round(signal);
      if (this.#failures > 0) log.info({ failures: this.#failures }, 'node status written again');
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      this.#failures++;
      // One line per outage of the API server, not per try.
      log[this.#failures === 1 ? 'warn' : 'debug']({ err: error, failures: this.#failures }, 'node status not written');
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { nodes, config } = this.#options;
    const existing = await nodes.get(config.name, { signal });
    if (existing === undefined) await this.#register(signal);
    else await this.#update(existing, signal);
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { nodes, config, log, clock } = this.#options;
    this.#take(undefined);
    if (!config.register) {
      if (!this.#waitingLogged) log.info({}, 'waiting for somebody to create the node (--register-node=false)');
      this.#waitingLogged = true;
      return;
    }
    const again = this.#registeredUid !== undefined;
    const status = this.#status(undefined);
    const node = await nodes.create(newNode(config, this.#options.host(), status), { signal });
    if (again) log.warn({ uid: node.metadata.uid }, 'node object was deleted, registered again');
    else log.info({ uid: node.metadata.uid }, 'node registered');
    this.#reportedAt = clock.now();
    this.#agreed(undefined, node, status);
  }

  async #update(existing: Node, signal: AbortSignal): Promise<void> {
    const { nodes, config, clock, log, nodeStatus: settings } = this.#options;
    const host = this.#options.host();
    const known = existing.metadata.uid === this.#registeredUid;
    const metadata = (known ? missingLabels : reconciledMetadata)(existing, config, host);
    // The network depends on the Node as it is now.
    this.#take(existing);
    const status = this.#status(existing);
    const changed = changedStatus(existing, status);
    const due = clock.now() - this.#reportedAt >= settings.reportFrequencyMs + this.#reportDelayMs;
    if (!known) log.info({ uid: existing.metadata.uid }, 'node found registered');
    if (changed === undefined && metadata === undefined && !due) {
      this.#agreed(existing, existing, status);
      return;
    }
    const patch = changed ?? { conditions: status.conditions ?? [] };
    const node = await nodes.patchStatus(config.name, patch, { signal, ...(metadata !== undefined && { metadata }) });
    this.#reportedAt = clock.now();
    // Spread, so that many nodes that changed together do not report together ever after.
    this.#reportDelayMs = changed === undefined ? 0 : settings.reportFrequencyMs * (this.#options.random() - 0.5);
    this.#agreed(existing, node, status);
  }

  #status(existing: Node | undefined): NodeStatus {
    const { config, nodeStatus: settings, clock, health, host, images, productVersion, kubeletPort } = this.#options;
    return nodeStatus(existing, {
      settings: config,
      productVersion,
      kubeletPort,
      maxImages: settings.maxImages,
      host: host(),
      images: images(),
      declaredFeatures: this.#options.declaredFeatures,
      problems: readyProblems(health(existing), clock.now()),
      now: clock.now(),
    });
  }

  #agreed(previous: Node | undefined, node: Node, status: NodeStatus): void {
    this.#registeredUid = node.metadata.uid;
    this.#take(node);
    this.#tell(previous, node, status);
  }

  /** Events and log lines of what this round changed; in the order of a kubelet that starts (reference 3.4). */
  #tell(previous: Node | undefined, node: Node, status: NodeStatus): void {
    const { config, host, log } = this.#options;
    const conditions = status.conditions ?? [];
    const first = !this.#started;
    this.#started = true;
    const unschedulable = node.spec?.unschedulable === true;
    const events: NodeEvent[] = [
      ...(first ? [STARTING] : []),
      ...rebootEvent(config.name, previous, host()?.bootId),
      ...conditionEvents(config.name, previous?.status?.conditions ?? [], conditions, first),
      ...(unschedulable === this.#unschedulable ? [] : [schedulableEvent(config.name, unschedulable)]),
    ];
    this.#unschedulable = unschedulable;
    for (const event of events) this.#options.events({ name: config.name, uid: node.metadata.uid }, event);
    const ready = conditions.find(({ type }) => type === 'Ready');
    this.#everReady ||= ready?.status === 'True';
    // Without the numbers in it: a growing age is not news.
    const problems = ready?.status === 'True' ? 'none' : (ready?.message ?? '').replaceAll(/\d/g, '');
    if (problems === this.#problems) return;
    this.#problems = problems;
    if (problems === 'none') log.info({}, 'node is ready');
    else log.warn({ problems: ready?.message }, 'node is not ready');
  }

  #take(node: Node | undefined): void {
    this.#node = node;
    this.#options.onNode(node);
  }
}
