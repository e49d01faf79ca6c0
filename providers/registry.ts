import { UsageError } from '../src/util/errors.ts';
import type { ProviderModule } from './contract/index.ts';

type Loader = () => Promise<{ readonly provider: ProviderModule<unknown> }>;

/** The only list of providers. Lazy, so that a node of one kind does not pay for the libraries of the others. */
const LOADERS: Readonly<Record<string, Loader>> = {
  docker: () => import('./docker/index.ts'),
  fake: () => import('./fake/index.ts'),
};

const PROVIDER_NAMES = Object.keys(LOADERS);

export async function loadProvider(name: string): Promise<ProviderModule<unknown>> {
  const load = Object.hasOwn(LOADERS, name) ? LOADERS[name] : undefined;
  if (load === undefined) throw new UsageError(`unknown provider "${name}" (known: ${PROVIDER_NAMES.join(', ')})`);
  return (await load()).provider;
}
