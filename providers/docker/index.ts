import type { Provider, ProviderContext, ProviderModule } from '../contract/index.ts';
import { EngineCalls } from '../engine/calls.ts';
import { type Cleaned, cleanup } from '../engine/cleanup.ts';
import { reachByTcp } from '../engine/dial-tcp.ts';
import { EngineProvider } from '../engine/engine-provider.ts';
import { hostReader } from './local-host.ts';
import { type DockerConfig, engineAddress, isLocal, parseConfig } from './schema.ts';
import { connect } from './transport.ts';

async function create(config: DockerConfig, context: ProviderContext): Promise<Provider> {
  const address = engineAddress(config);
  const { docker, disconnect } = await connect(address);
  return new EngineProvider({
    name: 'docker',
    docker,
    context,
    settings: {
      sandboxImage: config.sandboxImage,
      logMaxSize: config.logMaxSize,
      logMaxFiles: config.logMaxFiles,
      seccompRoot: config.seccompRoot,
    },
    dial: {
      way: config.portForward,
      relayImage: config.relayImage,
      ...(isLocal(address) ? { reach: reachByTcp } : {}),
    },
    timeoutMs: config.requestTimeoutSeconds * 1000,
    host: hostReader(address, config.nodeAddress),
    mayBeLocal: isLocal(address),
    disconnect,
  });
}

export const provider: ProviderModule<DockerConfig> = { name: 'docker', parseConfig, create };

/** Removes every container, volume and network of a node, for whoever takes the node away for good. */
export async function removeEverything(config: DockerConfig, context: ProviderContext): Promise<Cleaned> {
  const { docker, disconnect } = await connect(engineAddress(config));
  try {
    const calls = new EngineCalls(context.clock, config.requestTimeoutSeconds * 1000);
    return await cleanup({ docker, calls, context }, { signal: context.signal });
  } finally {
    disconnect();
  }
}
