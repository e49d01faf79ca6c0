import type { Provider, ProviderContext, ProviderModule } from '../../../providers/contract/index.ts';
import { loadProvider } from '../../../providers/registry.ts';
import { FakeClock } from '../fake-clock.ts';
import { type Blocks, table } from './document.ts';

/** Every provider, in every form in which it can be had. */
const FORMS: readonly (readonly [title: string, provider: string, config: unknown])[] = [
  ['docker', 'docker', {}],
  ['fake', 'fake', {}],
  ['fake, kind pod', 'fake', { kind: 'pod' }],
];

/** The table of docs/providers.md: what each provider says of itself. No backend is asked. */
export async function capabilityBlocks(): Promise<Blocks> {
  const providers = await Promise.all(FORMS.map(([, name, config]) => open(name, config)));
  const rows = ROWS.map(([what, tell]) => [what, ...providers.map((provider) => show(tell(provider)))]);
  await Promise.all(providers.map((provider) => provider.close()));
  return { capabilities: table(['capability', ...FORMS.map(([title]) => title)], rows) };
}

type Answer = boolean | string | number | ReadonlySet<string> | undefined;

const ROWS: readonly (readonly [what: string, tell: (provider: Provider) => Answer])[] = [
  ['driven by', ({ kind }) => kind],
  ['restarts of single containers', (provider) => (provider.kind === 'pod' ? provider.containerRestart : 'core')],
  ['volumes (`volumes`)', ({ traits }) => traits.volumes],
  ['`subPaths`', ({ traits }) => traits.subPaths],
  ['`fsGroup`', ({ traits }) => traits.fsGroup],
  ['`mountPropagation`', ({ traits }) => traits.mountPropagation],
  ['`recursiveReadOnly`', ({ traits }) => traits.recursiveReadOnly],
  ['security fields enforced (`security`)', ({ traits }) => traits.security],
  ['`network.podIpReachable`', ({ traits }) => traits.network.podIpReachable],
  ['`network.podIpKnownBeforeStart`', ({ traits }) => traits.network.podIpKnownBeforeStart],
  ['`network.sharedNamespace`', ({ traits }) => traits.network.sharedNamespace],
  ['`network.hostNetwork`', ({ traits }) => traits.network.hostNetwork],
  ['`network.hostPorts`', ({ traits }) => traits.network.hostPorts],
  ['`network.subnet`', ({ traits }) => traits.network.subnet],
  ['`initContainers`', ({ traits }) => traits.initContainers],
  ['`sidecars`', ({ traits }) => traits.sidecars],
  ['`ephemeralContainers`', ({ traits }) => traits.ephemeralContainers],
  ['`sharePidNamespace`', ({ traits }) => traits.sharePidNamespace],
  ['`maxGraceSeconds`', ({ traits }) => traits.maxGraceSeconds ?? 'no ceiling'],
  ['`graceAdjustable`', ({ traits }) => traits.graceAdjustable],
  ['`relistIntervalMs`', ({ traits }) => traits.relistIntervalMs],
  ['hints (`watch`)', ({ watch }) => watch !== undefined],
  ['`kubectl logs` (`logs`)', ({ logs }) => logs !== undefined],
  ['measuring (`stats`)', ({ stats }) => stats !== undefined],
  ['facet `exec`', ({ exec }) => exec !== undefined],
  ['facet `attach`', ({ attach }) => attach !== undefined],
  ['facet `dial`', ({ dial }) => dial !== undefined],
  ['facet `files`', ({ files }) => files !== undefined],
  ['content of live volumes (`updateFiles`)', ({ updateFiles }) => updateFiles !== undefined],
];

async function open(name: string, raw: unknown): Promise<Provider> {
  const module: ProviderModule<unknown> = await loadProvider(name);
  const context: ProviderContext = {
    nodeName: 'docs',
    ownerLabels: { 'outrigger/node': 'docs', 'outrigger/format': '1' },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    // Never moved: a provider that is only asked what it can do waits for nothing.
    clock: new FakeClock(),
    signal: new AbortController().signal,
  };
  return module.create(module.parseConfig(raw), context);
}

function show(answer: Answer): string {
  if (typeof answer === 'boolean') return answer ? 'yes' : 'no';
  return answer instanceof Set ? [...answer].join(', ') : String(answer);
}
