import { expect, it } from 'vitest';
import type { PodUid, Provider } from '../../providers/contract/index.ts';
import { ProviderError } from '../../providers/contract/index.ts';
import { FakeBackend } from '../../providers/fake/backend.ts';
import { FakeContainerProvider } from '../../providers/fake/container-provider.ts';
import { parseConfig } from '../../providers/fake/schema.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { instrumentProvider } from './instrumented-provider.ts';

const { signal } = new AbortController();

function setUp() {
  const clock = new FakeClock();
  const backend = new FakeBackend(clock, parseConfig({}));
  const calls: string[] = [];
  const observer = {
    called: (method: string, operation: string | undefined, _seconds: number, code: string | undefined) =>
      calls.push([method, operation, code].join(' ')),
  };
  const inner: Provider = new FakeContainerProvider(backend, { nodeName: 'n', ownerLabels: {} });
  return { backend, calls, inner, provider: instrumentProvider(inner, observer, () => clock.now()) };
}

it('calls are told with the kubelet’s name of the operation', async () => {
  const { calls, provider } = setUp();
  await provider.list({ signal });
  await provider.inspect('u' as PodUid, { signal });
  if (provider.kind === 'container') await provider.images.listImages({ signal });
  expect(calls).toEqual(['list list_podsandbox ', 'inspect podsandbox_status ', 'images.listImages list_images ']);
});

it('an error passes through and is told with its code', async () => {
  const { backend, calls, provider } = setUp();
  backend.faults.failNext('list', new ProviderError('Throttled', 'slow down'));
  await expect(provider.list({ signal })).rejects.toMatchObject({ code: 'Throttled' });
  expect(calls).toEqual(['list list_podsandbox Throttled']);
});

it('what is no call stays as it is', () => {
  const { calls, inner, provider } = setUp();
  expect(provider.traits).toBe(inner.traits);
  expect(provider.name).toBe(inner.name);
  expect(provider.kind).toBe('container');
  // Presence of a facet is the capability.
  expect(provider.files === undefined).toBe(inner.files === undefined);
  expect(provider.logs === undefined).toBe(inner.logs === undefined);
  expect(calls).toEqual([]);
});
