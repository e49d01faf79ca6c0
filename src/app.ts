import type { Provider, ProviderModule } from '../providers/contract/index.ts';
import { loadProvider } from '../providers/registry.ts';
import type { Config, NodeConfig } from './config/config.ts';
import { ApiClient } from './kube/client.ts';
import { loadKubeConfig } from './kube/kubeconfig.ts';
import { ServiceStore } from './kube/services.ts';
import { PodNetworks } from './node/pod-networks.ts';
import type { Logger } from './telemetry/logger.ts';
import { ChildAbort } from './util/abort.ts';
import { systemClock } from './util/clock.ts';
import { errorMessage, UsageError } from './util/errors.ts';
import { VirtualNode } from './virtual-node.ts';

/** Labels on everything a provider makes: whose it is, and in which form (providers/docker/readme.md). */
const FORMAT = '1';

export interface AppOptions {
  readonly log: Logger;
  /** Aborts when the process is to end; pods go on. */
  readonly signal: AbortSignal;
  readonly productVersion: string;
}

/**
 * Builds every object by hand and runs all nodes until the signal aborts. A fault of our own in one node ends the process: a
 * supervisor that restarts it finds everything as it was, which a half-dead process would not.
 */
export async function runApp(config: Config, { log, signal, productVersion }: AppOptions): Promise<void> {
  const clock = systemClock;
  const random = Math.random;
  using life = new ChildAbort(signal);
  const credentials = loadKubeConfig({
    ...(config.kubeconfig === undefined ? {} : { file: config.kubeconfig }),
    ...(config.context === undefined ? {} : { context: config.context }),
  });
  const client = new ApiClient({ credentials, clock, userAgent: `outrigger/${productVersion}` });
  const services = new ServiceStore({ client, clock, log, random });
  const networks = new PodNetworks(config.nodes);
  const nodes: VirtualNode[] = [];
  try {
    for (const node of config.nodes) {
      const nodeLog = config.nodes.length === 1 ? log : log.child({ node: node.name });
      const provider = await createProvider(node, nodeLog, life.signal);
      const shared = { config, productVersion, client, services, networks, clock, random, signal: life.signal };
      nodes.push(new VirtualNode({ ...shared, node, provider, log: nodeLog }));
    }
    await Promise.all([services.run({ signal: life.signal }), ...nodes.map((node) => node.run(10_250))]);
  } finally {
    life.abort(new Error('the process is going down'));
    client.close();
  }
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
