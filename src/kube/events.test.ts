import { beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from '../model/pod.ts';
import type { PodEvent } from '../pod/ports.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import type { ApiCall, Requester } from './client.ts';
import { ApiUnreachable, KubeError } from './errors.ts';
import { EventRecorder } from './events.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'ns', uid: 'u1', resourceVersion: '7' },
  spec: { containers: [] },
};
const pulled: PodEvent = { type: 'Normal', reason: 'Pulled', message: 'm' };

describe('EventRecorder', () => {
  let clock: FakeClock;
  let calls: ApiCall[];
  let fail: ((call: ApiCall) => Error | undefined) | undefined;
  let events: EventRecorder;
  let lines: string[];
  const client: Requester = {
    // The recorder reads no answers.
    request: async <T>(call: ApiCall): Promise<T> => {
      calls.push(call);
      const error = fail?.(call);
      if (error) throw error;
      return {} as T;
    },
  };
  const start = (options: { qps?: number; burst?: number } = {}): EventRecorder =>
    new EventRecorder({ client, clock, log: recordedLog(lines), nodeName: 'n1', random: () => 0.5, ...options });
  beforeEach(() => {
    clock = new FakeClock(Date.parse('2026-01-02T03:04:05.678Z'));
    calls = [];
    lines = [];
    fail = undefined;
    events = start();
  });
  const bodies = () => calls.map(({ body }) => body);

  it('sends the envelope of the kubelet', async () => {
    events.pod(pod, { ...pulled, fieldPath: 'spec.containers{c}' });
    expect(calls).toEqual([]);
    await settle();
    expect(calls[0]).toMatchObject({ method: 'POST', path: '/api/v1/namespaces/ns/events' });
    expect(bodies()).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: `web.${(BigInt(clock.now()) * 1_000_000n).toString(16)}`, namespace: 'ns' },
        involvedObject: {
          apiVersion: 'v1',
          kind: 'Pod',
          namespace: 'ns',
          name: 'web',
          uid: 'u1',
          resourceVersion: '7',
          fieldPath: 'spec.containers{c}',
        },
        type: 'Normal',
        reason: 'Pulled',
        message: 'm',
        source: { component: 'kubelet', host: 'n1' },
        firstTimestamp: '2026-01-02T03:04:05Z',
        lastTimestamp: '2026-01-02T03:04:05Z',
        count: 1,
        reportingComponent: 'kubelet',
        reportingInstance: 'n1',
        eventTime: null,
      },
    ]);
  });

  it('puts events of a node into the namespace default, with its real UID', async () => {
    events.node('n1', 'node-uid', { type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
    await settle();
    expect(calls[0]).toMatchObject({
      path: '/api/v1/namespaces/default/events',
      body: { involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid' } },
    });
  });

  it('gives two events of one millisecond different names', async () => {
    events.pod(pod, pulled);
    events.pod(pod, { ...pulled, message: 'other' });
    await settle();
    expect(new Set(calls.map(({ body }) => nameOf(body))).size).toBe(2);
  });

  it('counts the same event up with a patch', async () => {
    events.pod(pod, pulled);
    await clock.advance(2_000);
    events.pod(pod, pulled);
    await settle();
    expect(calls[1]).toMatchObject({
      method: 'PATCH',
      path: `/api/v1/namespaces/ns/events/${nameOf(calls[0]?.body)}`,
      contentType: 'application/strategic-merge-patch+json',
      body: { count: 2, lastTimestamp: '2026-01-02T03:04:07Z', message: 'm' },
    });
  });

  it('creates an event anew when the one to count up has expired', async () => {
    events.pod(pod, pulled);
    await settle();
    fail = ({ method }) => (method === 'PATCH' ? new KubeError(404, {}, 'gone') : undefined);
    events.pod(pod, pulled);
    await settle();
    expect(calls.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
    expect(calls[2]?.body).toMatchObject({ count: 2 });
  });

  it('combines similar events from the tenth distinct message on', async () => {
    for (let i = 1; i <= 11; i++) events.pod(pod, { ...pulled, message: `m${i}` });
    await settle();
    expect(calls.map(({ method }) => method)).toEqual([...Array(10).fill('POST'), 'PATCH']);
    expect(calls[8]?.body).toMatchObject({ message: 'm9' });
    expect(calls[9]?.body).toMatchObject({ message: '(combined from similar events): m10', count: 1 });
    expect(calls[10]?.body).toMatchObject({ message: '(combined from similar events): m11', count: 2 });
  });

  it('drops spam: 25 events of one type about one object, then one every five minutes', async () => {
    for (let i = 0; i < 40; i++) events.pod(pod, pulled);
    await settle();
    expect(calls).toHaveLength(25);
    events.pod(pod, { ...pulled, type: 'Warning' });
    await settle();
    expect(calls).toHaveLength(26);
    await clock.advance(300_000);
    for (let i = 0; i < 3; i++) events.pod(pod, pulled);
    await settle();
    expect(calls).toHaveLength(27);
  });

  it('keeps to its rate after a burst', async () => {
    events = start({ qps: 10, burst: 5 });
    for (let i = 0; i < 20; i++) events.pod(withUid(`p${i}`), pulled);
    await settle();
    expect(calls).toHaveLength(5);
    await clock.advance(1_000);
    expect(calls).toHaveLength(15);
  });

  it('waits for an API server that is away, in order, and gives an event up after twelve tries', async () => {
    fail = () => new ApiUnreachable('refused');
    events.pod(pod, pulled);
    events.pod(pod, { ...pulled, reason: 'Next' });
    await clock.advance(5_000 + 9 * 10_000);
    expect(calls).toHaveLength(11);
    await clock.advance(10_000);
    expect(events.dropped).toBe(1);
    fail = undefined;
    await clock.advance(10_000);
    expect(calls.at(-1)?.body).toMatchObject({ reason: 'Next' });
    expect(events.dropped).toBe(1);
  });

  it('does not insist when the server refuses, and takes a lost answer for success', async () => {
    fail = () => new KubeError(403, {}, 'namespace is terminating');
    events.pod(pod, pulled);
    await settle();
    expect([calls.length, events.dropped]).toEqual([1, 1]);
    fail = () => new KubeError(409, {}, 'already exists');
    events.pod(pod, { ...pulled, reason: 'Created' });
    await settle();
    expect([calls.length, events.dropped]).toEqual([2, 1]);
  });

  it('says once that events are lost, and once that they are sent again', async () => {
    fail = () => new KubeError(403, { reason: 'Forbidden' }, 'events is forbidden');
    for (let i = 0; i < 3; i++) events.pod(withUid(`p${i}`), pulled);
    await settle();
    expect(lines).toEqual(['warn event dropped', 'debug event dropped', 'debug event dropped']);
    fail = undefined;
    for (let i = 3; i < 6; i++) events.pod(withUid(`p${i}`), pulled);
    await settle();
    expect(lines.splice(3)).toEqual(['info events are sent again']);
  });

  it('is silent about a namespace that is being deleted: it takes no events any more', async () => {
    const details = { causes: [{ reason: 'NamespaceTerminating' }] };
    fail = () => new KubeError(403, { reason: 'Forbidden', details }, 'namespace is being terminated');
    events.pod(pod, pulled);
    await settle();
    expect([lines, events.dropped]).toEqual([['debug event dropped'], 1]);
  });

  it('drops what does not fit into the queue', async () => {
    fail = () => new ApiUnreachable('refused');
    for (let i = 0; i < 1100; i++) events.pod(withUid(`p${i}`), pulled);
    expect(events.dropped).toBe(100);
  });

  it('sends what is left on close, but only as long as it may', async () => {
    events.pod(pod, pulled);
    await events.close({ signal: new AbortController().signal });
    expect(calls).toHaveLength(1);
    events.pod(pod, pulled);
    await settle();
    expect(calls).toHaveLength(1);

    fail = () => new ApiUnreachable('refused');
    events = start();
    events.pod(pod, pulled);
    const abort = new AbortController();
    const closed = events.close({ signal: abort.signal });
    await settle();
    abort.abort();
    await closed;
    expect(events.dropped).toBe(1);
  });
});

function nameOf(body: unknown): string {
  const event = body as { metadata: { name: string } }; // the recorder's own event
  return event.metadata.name;
}

function withUid(uid: string): Pod {
  return { ...pod, metadata: { ...pod.metadata, uid } };
}
