import type https from 'node:https';
import { expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.ts';
import { FakeKube, until } from '../testing/fake-kube.ts';
import { ApiClient } from './client.ts';
import { ApiUnreachable } from './errors.ts';

it('a new client certificate ends watches at once and lets requests in flight end', async () => {
  const kube = await FakeKube.start();
  const clock = new FakeClock();
  let cert = 'old';
  const credentials = {
    ...kube.credentials,
    getCurrentCluster: () => ({ server: kube.url }),
    applyToHTTPSOptions: async (options: https.RequestOptions) => {
      options.cert = cert;
    },
  };
  const client = new ApiClient({ credentials, clock });
  const { signal } = new AbortController();
  const held = Promise.withResolvers<void>();
  kube.answer = async ({ path }) => {
    if (path === '/slow') await held.promise;
    return path === '/watch' ? 'watch' : { body: { path } };
  };
  const watching = client.stream({ path: '/watch', idleTimeoutMs: 60_000, signal }).next();
  watching.catch(() => {}); // looked at below
  await kube.nextWatch();
  const slow = client.request({ method: 'GET', path: '/slow', signal });
  await until(() => kube.count('GET', '/slow') === 1);

  cert = 'new';
  await clock.advance(10_000);
  expect(await client.request({ method: 'GET', path: '/next', signal })).toEqual({ path: '/next' });
  await expect(watching).rejects.toBeInstanceOf(ApiUnreachable);
  held.resolve();
  expect(await slow).toEqual({ path: '/slow' });
  client.close();
  await kube.stop();
});
