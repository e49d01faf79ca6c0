import type { Provider, ProviderContext, ProviderModule } from '../contract/index.ts';
import { FakeBackend } from './backend.ts';
import { FakeContainerProvider } from './container-provider.ts';
import { FakePodProvider } from './pod-provider.ts';
import { type FakeConfig, parseConfig } from './schema.ts';

/** Over a backend of its own, which ends with the process: there is nothing to come back to after a restart. */
async function create(config: FakeConfig, context: ProviderContext): Promise<Provider> {
  const backend = new FakeBackend(context.clock, config);
  backend.faults.journalLimit = 0;
  context.signal.addEventListener('abort', () => backend.dispose(), { once: true });
  return config.kind === 'pod' ? new FakePodProvider(backend, context) : new FakeContainerProvider(backend, context);
}

export const provider: ProviderModule<FakeConfig> = { name: 'fake', parseConfig, create };
