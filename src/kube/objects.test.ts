import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { FakeKube, type FakeReply, list, status, until } from '../testing/fake-kube.ts';
import { ApiClient } from './client.ts';
import { ObjectCache } from './objects.ts';

const { signal } = new AbortController();

describe('ObjectCache', () => {
  let kube: FakeKube;
  let clock: FakeClock;
  let client: ApiClient;
  let cache: ObjectCache;
  let stop: AbortController;
  let changed: (readonly string[])[];
  let lists: FakeReply[];
  beforeEach(async () => {
    kube = await FakeKube.start();
    clock = new FakeClock();
    client = new ApiClient({ credentials: kube.credentials, clock });
    stop = new AbortController();
    changed = [];
    lists = [];
    kube.answer = ({ query }) => (query.get('watch') === 'true' ? 'watch' : (lists.shift() ?? 'silence'));
    cache = new ObjectCache({
      client,
      clock,
      log: pino({ level: 'silent' }),
      signal: stop.signal,
      onChange: (uids) => changed.push(uids),
      random: () => 0,
    });
  });
  afterEach(async () => {
    stop.abort();
    client.close();
    await kube.stop();
  });

  it('watches each object once, by name, for all pods that use it', async () => {
    lists = [list('5', [configMap('3', { a: '1' })])];
    cache.acquire('p1', 'ConfigMap', 'ns', 'cm');
    cache.acquire('p1', 'ConfigMap', 'ns', 'cm');
    cache.acquire('p2', 'ConfigMap', 'ns', 'cm');
    expect((await cache.get('ConfigMap', 'ns', 'cm', { signal }))?.data).toEqual({ a: '1' });
    const watch = await kube.nextWatch();
    expect(watch.request.path).toBe('/api/v1/namespaces/ns/configmaps');
    expect(watch.request.query.get('fieldSelector')).toBe('metadata.name=cm');
    watch.send('MODIFIED', configMap('8', { a: '2' }));
    await until(() => changed.length === 1);
    expect(changed).toEqual([['p1', 'p2']]);
    expect((await cache.get('ConfigMap', 'ns', 'cm', { signal }))?.data).toEqual({ a: '2' });
    expect(kube.requests).toHaveLength(2);
  });

  it('says undefined for an object that does not exist, until it appears', async () => {
    lists = [list('5', [])];
    cache.acquire('p1', 'Secret', 'ns', 's');
    expect(await cache.get('Secret', 'ns', 's', { signal })).toBeUndefined();
    const watch = await kube.nextWatch();
    expect(watch.request.path).toBe('/api/v1/namespaces/ns/secrets');
    watch.send('ADDED', {
      metadata: { name: 's', namespace: 'ns', uid: 'u', resourceVersion: '6' },
      data: { k: 'dg==' },
    });
    await until(() => changed.length === 1);
    expect((await cache.get('Secret', 'ns', 's', { signal }))?.data).toEqual({ k: 'dg==' });
    watch.send('DELETED', { metadata: { name: 's', namespace: 'ns', uid: 'u', resourceVersion: '7' } });
    await until(() => changed.length === 2);
    expect(await cache.get('Secret', 'ns', 's', { signal })).toBeUndefined();
  });

  it('does not believe the first refusals: the authorizer learns of a pod a moment later', async () => {
    lists = [status(403, 'Forbidden'), status(403, 'Forbidden'), list('5', [configMap('3')])];
    cache.acquire('p1', 'ConfigMap', 'ns', 'cm');
    const got = cache.get('ConfigMap', 'ns', 'cm', { signal });
    for (let i = 0; i < 40 && lists.length > 0; i++) await clock.advance(100);
    await until(() => lists.length === 0);
    expect((await got)?.metadata.uid).toBe('u1');
  });

  it('rejects with the refusal when it stays', async () => {
    kube.answer = () => status(403, 'Forbidden', 'configmaps "cm" is forbidden');
    cache.acquire('p1', 'ConfigMap', 'ns', 'cm');
    const got = expect(cache.get('ConfigMap', 'ns', 'cm', { signal })).rejects.toThrow('configmaps "cm" is forbidden');
    for (let asked = 1; asked < 4; asked++) {
      await until(() => kube.requests.length >= asked);
      for (let i = 0; i < 100 && kube.requests.length === asked; i++) await clock.advance(100);
    }
    await got;
  });

  it('rejects when the API server stays silent, and when the caller gives up', async () => {
    cache.acquire('p1', 'ConfigMap', 'ns', 'cm');
    const got = expect(cache.get('ConfigMap', 'ns', 'cm', { signal })).rejects.toThrow('no answer of the API server');
    const abort = new AbortController();
    const other = expect(cache.get('ConfigMap', 'ns', 'cm', { signal: abort.signal })).rejects.toThrow('enough');
    abort.abort(new Error('enough'));
    await other;
    await clock.advance(15_000);
    await got;
  });

  it('keeps the watch a little after its last pod, then ends it', async () => {
    lists = [list('5', [configMap('3')])];
    cache.acquire('p1', 'ConfigMap', 'ns', 'cm');
    await cache.get('ConfigMap', 'ns', 'cm', { signal });
    const watch = await kube.nextWatch();
    cache.releasePod('p1');
    await clock.advance(29_000);
    cache.acquire('p2', 'ConfigMap', 'ns', 'cm');
    await clock.advance(60_000);
    expect([watch.closed, cache.size]).toEqual([false, 1]);
    cache.releasePod('p2');
    await clock.advance(30_000);
    await until(() => watch.closed);
    expect(cache.size).toBe(0);
  });

  it('does not watch an immutable object, but reads it again for another pod', async () => {
    const frozen = { ...configMap('3', { a: '1' }), immutable: true };
    lists = [list('5', [frozen])];
    cache.acquire('p1', 'ConfigMap', 'ns', 'cm');
    expect((await cache.get('ConfigMap', 'ns', 'cm', { signal }))?.data).toEqual({ a: '1' });
    await settle();
    const recreated = { ...configMap('9', { a: '2' }), immutable: true };
    recreated.metadata.uid = 'u2';
    lists = [list('10', [recreated])];
    cache.acquire('p2', 'ConfigMap', 'ns', 'cm');
    expect((await cache.get('ConfigMap', 'ns', 'cm', { signal }))?.data).toEqual({ a: '2' });
    expect(changed).toEqual([['p1', 'p2']]);
  });
});

function configMap(resourceVersion: string, data: Record<string, string> = {}) {
  return { metadata: { name: 'cm', namespace: 'ns', uid: 'u1', resourceVersion }, data };
}
