import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.ts';
import { FakeKube, type FakeReply, type FakeRequest, list, status, until } from '../testing/fake-kube.ts';
import { ApiClient } from './client.ts';
import type { Delta, Reflected } from './known.ts';
import { Reflector } from './reflector.ts';

const silent = pino({ level: 'silent' });

describe('Reflector', () => {
  let kube: FakeKube;
  let clock: FakeClock;
  let client: ApiClient;
  let seen: string[];
  let stop: AbortController;
  let reflector: Reflector<Reflected>;
  let handler: (delta: Delta<Reflected>) => void;
  let lists: FakeReply[];
  let watches: FakeReply[];
  let failures: number;

  beforeEach(async () => {
    kube = await FakeKube.start();
    clock = new FakeClock();
    client = new ApiClient({ credentials: kube.credentials, clock });
    stop = new AbortController();
    seen = [];
    lists = [];
    watches = [];
    failures = 0;
    handler = ({ type, object }) => {
      seen.push(`${type} ${object.metadata.name}/${object.metadata.uid}@${object.metadata.resourceVersion}`);
    };
    kube.answer = (request) => (isWatch(request) ? watches.shift() : lists.shift()) ?? 'watch';
    reflector = new Reflector({
      name: 'test',
      client,
      path: '/api/v1/pods',
      fieldSelector: 'spec.nodeName=n1',
      handler: (delta) => handler(delta),
      onFailure: () => failures++,
      clock,
      log: silent,
      random: () => 0.5,
      pageSize: 2,
    });
  });

  afterEach(async () => {
    stop.abort();
    client.close();
    await kube.stop();
  });

  const run = (): Promise<void> => reflector.run({ signal: stop.signal });
  const tick = async (ms: number, condition: () => boolean): Promise<void> => {
    for (let i = 0; i < 50 && !condition(); i++) await clock.advance(ms);
    await until(condition);
  };

  it('lists in pages, tells every object as added, and watches from the version of the list', async () => {
    lists = [list('10', [pod('a', 'A', '3'), pod('b', 'B', '4')], 'page2'), list('10', [pod('c', 'C', '5')])];
    const running = run();
    const watch = await kube.nextWatch();
    await reflector.synced;
    expect(seen).toEqual(['added a/A@3', 'added b/B@4', 'added c/C@5']);
    const [first, second] = kube.requests;
    expect(Object.fromEntries(first?.query ?? [])).toEqual({ fieldSelector: 'spec.nodeName=n1', limit: '2' });
    expect(second?.query.get('continue')).toBe('page2');
    expect(Object.fromEntries(watch.request.query)).toEqual({
      fieldSelector: 'spec.nodeName=n1',
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '10',
      timeoutSeconds: '450',
    });
    stop.abort();
    await running;
  });

  it('tells changes by UID, and drops managed fields', async () => {
    lists = [list('10', [])];
    const objects: unknown[] = [];
    handler = ({ type, object }) => objects.push([type, object]);
    void run();
    const watch = await kube.nextWatch();
    watch.send('ADDED', { metadata: { ...pod('a', 'A', '11').metadata, managedFields: [{}] } });
    watch.send('MODIFIED', pod('a', 'A', '12'));
    watch.send('DELETED', pod('a', 'A', '13'));
    await until(() => objects.length === 3);
    expect(objects).toEqual([
      ['added', pod('a', 'A', '11')],
      ['modified', pod('a', 'A', '12')],
      ['deleted', pod('a', 'A', '13')],
    ]);
  });

  it('resumes from the last version, bookmarks included, when the watch ends or breaks', async () => {
    lists = [list('10', [])];
    void run();
    const first = await kube.nextWatch();
    first.send('ADDED', pod('a', 'A', '11'));
    first.send('BOOKMARK', { metadata: { resourceVersion: '20' } });
    await until(() => seen.length === 1);
    first.end();
    await tick(100, () => kube.count('GET') === 3);
    const second = await kube.nextWatch();
    expect(second.request.query.get('resourceVersion')).toBe('20');
    second.send('ADDED', pod('b', 'B', '21'));
    second.raw('{"type":"ADDED","object":{"metad');
    await until(() => seen.length === 2);
    second.cut();
    await tick(100, () => kube.count('GET') === 4);
    const third = await kube.nextWatch();
    expect(third.request.query.get('resourceVersion')).toBe('21');
    expect(seen).toEqual(['added a/A@11', 'added b/B@21']);
    expect([reflector.restarts, reflector.relists]).toEqual([2, 0]);
  });

  it.each([
    ['as an answer', 'answer'],
    ['as an event', 'event'],
  ])('lists again after a 410 %s, and tells what happened in between', async (_title, how) => {
    lists = [list('10', [pod('a', 'A', '3'), pod('b', 'B', '4'), pod('c', 'C', '5')])];
    void run();
    const watch = await kube.nextWatch();
    await until(() => seen.length === 3);
    seen = [];
    // b is gone, c came back as another pod, a changed, d is new.
    lists = [list('90', [pod('c', 'C2', '80'), pod('a', 'A', '50'), pod('d', 'D', '60')])];
    if (how === 'answer') {
      watches = [status(410, 'Expired')];
      watch.end();
    } else watch.send('ERROR', { kind: 'Status', code: 410, reason: 'Gone', message: 'too old' });
    await tick(200, () => reflector.relists === 1);
    expect(seen).toEqual(['deleted b/B@4', 'deleted c/C@5', 'added c/C2@80', 'modified a/A@50', 'added d/D@60']);
    await tick(200, () => kube.requests.at(-1)?.query.get('resourceVersion') === '90');
  });

  it('begins the list anew when its continue token has expired', async () => {
    lists = [list('10', [pod('a', 'A', '3')], 'next'), status(410, 'Expired'), list('12', [pod('a', 'A', '3')])];
    void run();
    await tick(200, () => seen.length === 1);
    await reflector.synced;
    expect(seen).toEqual(['added a/A@3']);
  });

  it('tells a name that comes back with another UID as deleted and added, also without a DELETED event', async () => {
    lists = [list('10', [pod('a', 'A', '3')])];
    void run();
    const watch = await kube.nextWatch();
    watch.send('ADDED', pod('a', 'A2', '11'));
    await until(() => seen.length === 3);
    expect(seen).toEqual(['added a/A@3', 'deleted a/A@3', 'added a/A2@11']);
  });

  it('destroys a silent watch after 90 seconds and resumes', async () => {
    lists = [list('10', [])];
    void run();
    const first = await kube.nextWatch();
    await until(() => reflector.lastByteAgeMs !== undefined && kube.count('GET') === 2);
    await clock.advance(60_000);
    expect(reflector.lastByteAgeMs).toBe(60_000);
    first.send('BOOKMARK', { metadata: { resourceVersion: '15' } });
    await until(() => reflector.lastByteAgeMs === 0);
    await clock.advance(89_000);
    expect(first.closed).toBe(false);
    await tick(1_000, () => kube.count('GET') === 3);
    const second = await kube.nextWatch();
    expect(second.request.query.get('resourceVersion')).toBe('15');
    expect(reflector.relists).toBe(0);
  });

  it('backs off while the server refuses, and does not sync before the first list', async () => {
    let synced = false;
    void reflector.synced.then(() => {
      synced = true;
    });
    lists = [status(403, 'Forbidden'), status(403, 'Forbidden'), status(403, 'Forbidden'), list('5', [])];
    void run();
    for (const [failed, delayMs] of [312.5, 625, 1250].entries()) {
      await until(() => failures === failed + 1);
      await clock.advance(delayMs - 1);
      expect([kube.requests.length, synced]).toEqual([failed + 1, false]);
      await clock.advance(1);
    }
    await until(() => synced);
  });

  it('waits as long as a 429 asks for', async () => {
    lists = [{ ...status(429, 'TooManyRequests'), headers: { 'retry-after': '7' } }, list('5', [])];
    void run();
    await until(() => failures === 1);
    await clock.advance(6_999);
    expect(kube.requests).toHaveLength(1);
    await clock.advance(1);
    await reflector.synced;
  });

  it('lists again when the server keeps refusing to resume', async () => {
    lists = [list('10', []), list('4', [])];
    watches = [500, 500, 500].map((code) => status(code, 'InternalError'));
    void run();
    await tick(200, () => reflector.relists === 1);
    expect((await kube.nextWatch()).request.query.get('resourceVersion')).toBe('4');
  });

  it('rejects with what the handler threw', async () => {
    const bug = new Error('bug');
    handler = () => {
      throw bug;
    };
    lists = [list('10', [pod('a', 'A', '3')])];
    await expect(run()).rejects.toBe(bug);
  });

  it('ends quietly when its signal aborts, whatever it was doing', async () => {
    lists = ['silence'];
    const running = run();
    await until(() => kube.requests.length === 1);
    stop.abort();
    await running;
  });
});

function isWatch(request: FakeRequest): boolean {
  return request.query.get('watch') === 'true';
}

function pod(name: string, uid: string, resourceVersion: string): Reflected {
  return { metadata: { namespace: 'ns', name, uid, resourceVersion } };
}
