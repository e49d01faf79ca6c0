import type { Provider, ProviderModule } from '../providers/contract/index.ts';
import { loadProvider } from '../providers/registry.ts';
import { type ApiAccess, type ApiAccessOptions, openApiAccess } from './api-access.ts';
import type { Config, NodeConfig } from './config/config.ts';
import { ApiClient } from './kube/client.ts';
import { ServiceStore } from './kube/services.ts';
import { KUBERNETES_VERSION } from './model/version.ts';
import { PodNetworks } from './node/pod-networks.ts';
import { HealthzServer } from './server/healthz-server.ts';
import type { Logger } from './telemetry/logger.ts';
import { ProcessMetrics } from './telemetry/metrics/process-metrics.ts';
import { ChildAbort } from './util/abort.ts';
import { systemClock } from './util/clock.ts';
import { errorMessage, UsageError } from './util/errors.ts';
import { VirtualNode } from './virtual-node.ts';

/** Labels on everything a provider makes: whose it is, and in which form (providers/docker/readme.md). */
const FORMAT = '1';

export interface AppOptions {
  readonly log: Logger;
  /** Changes what is logged, by klog's numbers (`PUT /debug/flags/v`). */
  readonly setVerbosity: (verbosity: number) => void;
  /** Aborts when the process is to end; pods go on. */
  readonly signal: AbortSignal;
  readonly productVersion: string;
}

/**
 * Builds every object by hand and runs all nodes until the signal aborts. A fault of our own in one node ends the process: a
 * supervisor that restarts it finds everything as it was, which a half-dead process would not.
 */
export async function runApp(config: Config, { log, setVerbosity, signal, productVersion }: AppOptions): Promise<void> {
  const clock = systemClock;
  const random = Math.random;
  using life = new ChildAbort(signal);
  const userAgent = `outrigger/${productVersion}`;
  const processMetrics = new ProcessMetrics({ version: productVersion, kubernetesVersion: KUBERNETES_VERSION });
  const access = await openAccess(config, processMetrics, { userAgent, clock, random, log, signal: life.signal });
  const { credentials } = access;
  const client = new ApiClient({
    metrics: processMetrics.api,
    credentials,
    clock,
    userAgent,
  });
  const services = new ServiceStore({ client, clock, log, random });
  processMetrics.watches.push(services.watch);
  const networks = new PodNetworks(config.nodes);
  const nodes: VirtualNode[] = [];
  let healthz: HealthzServer | undefined;
  try {
    for (const node of config.nodes) {
      const nodeLog = config.nodes.length === 1 ? log : log.child({ node: node.name });
      const provider = await createProvider(node, nodeLog, life.signal);
      const shared = {
        config,
        productVersion,
        setVerbosity,
        startedAtMs: clock.now(),
        client,
        services,
        processMetrics,
        networks,
        clock,
        random,
        signal: life.signal,
      };
      nodes.push(new VirtualNode({ ...shared, node, provider, log: nodeLog }));
    }
    healthz = await startHealthz(config, nodes, log);
    const runs = [
      services.run({ signal: life.signal }),
      access.certificate?.run({ signal: life.signal }),
      ...nodes.map((node) => node.run()),
    ];
    // The first that fails takes the others down with it; each of them still ends in order.
    for (const run of runs) run?.catch((error: unknown) => life.abort(error));
    const failed = (await Promise.allSettled(runs)).find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  } finally {
    life.abort(new Error('the process is going down'));
    await healthz?.stop();
    client.close();
    access.close();
  }
}

async function openAccess(config: Config, metrics: ProcessMetrics, options: ApiAccessOptions): Promise<ApiAccess> {
  if (!config.clientCertificate.rotate) return openApiAccess(config, options);
  let opened: ApiAccess | undefined;
  const certificate = metrics.clientCertificate(() => opened?.certificate?.ttlSeconds());
  opened = await openApiAccess(config, { ...options, renewFailed: () => certificate.renewFailed() });
  return opened;
}

/** Port 0 turns it off, as the kubelet's does. */
async function startHealthz(
  { healthz }: Config,
  nodes: readonly VirtualNode[],
  log: Logger,
): Promise<HealthzServer | undefined> {
  if (healthz.port === 0) return undefined;
  const server = new HealthzServer({ ...healthz, checks: nodes.flatMap(({ checks }) => checks), log });
  await server.start();
  return server;
}

async function createProvider(node: NodeConfig, log: Logger, signal: AbortSignal): Promise<Provider> {
  const { module, parsed } = await checkProvider(node);
  return module.create(parsed, {
    nodeName: node.name,
    ownerLabels: { 'outrigger/node': node.name, 'outrigger/format': FORMAT },
    log,
    clock: systemClock,
    signal,
  });
}

/** For check-config: that the providers exist and like their sections. Throws UsageError. */
export async function checkProviders({ nodes }: Pick<Config, 'nodes'>): Promise<void> {
  for (const node of nodes) await checkProvider(node);
}

async function checkProvider(node: NodeConfig): Promise<{ module: ProviderModule<unknown>; parsed: unknown }> {
  const module = await loadProvider(node.provider);
  try {
    return { module, parsed: module.parseConfig(node.providerConfig) };
  } catch (error) {
    throw new UsageError(`providerConfig of node ${node.name} (${node.provider}): ${errorMessage(error)}`, {
      cause: error,
    });
  }
}
