import type { PodUid, Provider } from '../providers/contract/index.ts';
import { makeAccessPolicy } from './access-policy.ts';
import type { Config, NodeConfig } from './config/config.ts';
import { kubeletConfiguration } from './config/kubelet-configuration.ts';
import type { ApiClient } from './kube/client.ts';
import type { PodStack } from './pod-stack.ts';
import { type HealthCheck, kubeletChecks } from './server/health.ts';
import type { KubeletAppOptions } from './server/kubelet-app.ts';
import { ReadOnlyServer } from './server/read-only-server.ts';
import type { DebugDeps } from './server/routes/debug.ts';
import { KubeletServer } from './server/server.ts';
import type { ServingSource } from './server/tls-files.ts';
import { NodeStats } from './stats/node-stats.ts';
import type { Sampler } from './stats/sampler.ts';
import type { Logger } from './telemetry/logger.ts';
import type { NodeMetrics } from './telemetry/metrics/node-metrics.ts';
import type { Clock } from './util/clock.ts';

export interface KubeletApiOptions {
  readonly config: Config;
  readonly node: NodeConfig;
  readonly provider: Provider;
  readonly productVersion: string;
  readonly client: ApiClient;
  readonly pods: PodStack;
  readonly metrics: NodeMetrics;
  /** Absent where the backend cannot measure. */
  readonly sampler: Sampler | undefined;
  readonly serving: ServingSource;
  readonly checks: readonly HealthCheck[];
  /** When this process began. */
  readonly startedAtMs: number;
  readonly setVerbosity: (verbosity: number) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Life of the node. */
  readonly signal: AbortSignal;
}

/** What one node listens on: the kubelet API, and the read-only port where it is asked for. */
export class KubeletApi {
  readonly #options: KubeletApiOptions;
  readonly #server: KubeletServer;
  readonly #readOnly: ReadOnlyServer | undefined;

  constructor(options: KubeletApiOptions) {
    this.#options = options;
    const { config, node, client, serving, clock, random, signal } = options;
    const { access, debug, tls } = config;
    const shown = shownPods(options);
    this.#server = new KubeletServer({
      ...shown,
      ...makeAccessPolicy({ client, nodeName: node.name, access, clock, random, signal }),
      address: node.address,
      port: node.port,
      serving,
      tlsMinVersion: tls.minVersion,
      ...(tls.ciphers === undefined ? {} : { tlsCiphers: tls.ciphers }),
      ...(node.clientCaFile === undefined ? {} : { clientCaFile: node.clientCaFile }),
      http: options.metrics.http,
      debugging: debug.handlers,
      streamingIdleTimeoutMs: config.streaming.idleTimeoutMs,
      endExecWithClient: config.streaming.endExecWithClient,
      debug: debugDeps(options),
      clock,
    });
    this.#readOnly =
      node.readOnlyPort === 0
        ? undefined
        : new ReadOnlyServer({ ...shown, address: node.address, port: node.readOnlyPort });
  }

  /** Resolves with the port of the kubelet API when connections are taken. */
  async start(): Promise<{ readonly port: number }> {
    const { config, node, log } = this.#options;
    if (config.access.authorization.mode === 'AlwaysAllow')
      log.warn({ anonymous: config.access.anonymous }, 'the kubelet API is open: whoever gets in may do everything');
    await this.#readOnly?.start();
    if (this.#readOnly !== undefined)
      log.warn({ port: node.readOnlyPort }, 'the read-only port shows the pods of this node to everybody');
    return this.#server.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#readOnly?.stop(), this.#server.stop()]);
  }
}

/** What both ports show. */
function shownPods(options: KubeletApiOptions): Omit<KubeletAppOptions, 'access' | 'debug' | 'debugging' | 'signal'> {
  const { node, provider, pods, metrics, sampler, clock, log } = options;
  const { desired, pleg, workers } = pods;
  return {
    checks: [
      ...kubeletChecks(
        () => pleg.enteredMs,
        () => clock.now(),
      ),
      ...options.checks,
    ],
    metrics,
    http: metrics.http,
    pods: function* () {
      for (const { pod, stop } of desired.all()) if (stop?.type !== 'removed') yield pod;
    },
    seenMs: (uid: PodUid) => desired.seenMs(uid),
    findPod: (namespace, name) => pods.find(namespace, name),
    status: (uid: PodUid) => workers.status(uid),
    observed: pleg,
    ...(provider.logs === undefined ? {} : { logs: provider.logs }),
    ...(provider.exec === undefined ? {} : { exec: provider.exec }),
    ...(provider.attach === undefined ? {} : { attach: provider.attach }),
    ...(provider.dial === undefined ? {} : { dial: provider.dial }),
    ...(sampler === undefined
      ? {}
      : { stats: new NodeStats({ nodeName: node.name, sampler, observed: pleg, desired }) }),
    clock,
    log,
  };
}

function debugDeps(options: KubeletApiOptions): Omit<DebugDeps, 'findPod' | 'signal'> {
  const { config, node, productVersion, pods, startedAtMs, setVerbosity, clock } = options;
  return {
    observedPods: () => pods.pleg.all(),
    kubeletConfiguration: () => kubeletConfiguration(config, node),
    ...(config.debug.systemLogs && { systemLogDir: node.systemLogDir }),
    profiling: config.debug.profiling,
    ...(config.debug.flags && { setVerbosity }),
    flags: config.flags,
    productVersion,
    startedAtMs,
    now: () => clock.now(),
    clock,
  };
}
