import { describe, expect, it } from 'vitest';
import { ApiUnreachable } from '../kube/errors.ts';
import type { Lease } from '../kube/nodes.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { FakeNodeObjects } from '../testing/fake-node-objects.ts';
import { silentLog } from '../testing/silent-log.ts';
import { NodeLease } from './lease.ts';

function setUp(existing?: Lease) {
  const clock = new FakeClock();
  const api = new FakeNodeObjects();
  api.lease = existing;
  const stop = new AbortController();
  const owner = { uid: 'u1' };
  const lease = new NodeLease({
    nodeName: 'n1',
    durationSeconds: 40,
    leases: api.leases,
    nodeUid: () => owner.uid,
    clock,
    random: () => 0,
    log: silentLog(),
  });
  const running = lease.run({ signal: stop.signal });
  return { clock, api, stop, owner, running };
}

describe('the node lease', () => {
  it('is created as the kubelet does it, owned by the Node', async () => {
    const { clock, api, stop } = setUp();
    await clock.advance(0);
    expect(api.lease).toMatchObject({
      metadata: {
        name: 'n1',
        namespace: 'kube-node-lease',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' }],
      },
      spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime: '2026-01-02T03:04:05.000000Z' },
    });
    stop.abort();
  });

  it('is renewed every quarter of its duration, without reading it again', async () => {
    const { clock, api, stop } = setUp();
    await clock.advance(30_000);
    expect(api.calls).toEqual(['lease get', 'lease create', 'lease replace', 'lease replace', 'lease replace']);
    expect(api.lease?.spec?.renewTime).toBe('2026-01-02T03:04:35.000000Z');
    stop.abort();
  });

  it('is taken up where a former process left it', async () => {
    const { clock, api, stop } = setUp({
      metadata: { name: 'n1', resourceVersion: '7' },
      spec: { holderIdentity: 'n1', leaseTransitions: 3 },
    });
    await clock.advance(0);
    expect(api.calls).toEqual(['lease get', 'lease replace']);
    expect(api.lease?.spec).toMatchObject({ leaseTransitions: 3, renewTime: '2026-01-02T03:04:05.000000Z' });
    stop.abort();
  });

  it('is read again after a conflict, in the same round', async () => {
    const { clock, api, stop } = setUp();
    await clock.advance(1_000);
    if (api.lease !== undefined)
      api.lease = { ...api.lease, metadata: { ...api.lease.metadata, resourceVersion: 'x' } };
    await clock.advance(9_000);
    expect(api.calls.slice(2)).toEqual(['lease replace', 'lease get', 'lease replace']);
    stop.abort();
  });

  it('is created again when somebody deleted it', async () => {
    const { clock, api, stop } = setUp();
    await clock.advance(1_000);
    api.lease = undefined;
    await clock.advance(9_000);
    expect(api.calls.slice(2)).toEqual(['lease replace', 'lease get', 'lease create']);
    stop.abort();
  });

  it('follows a Node that was made anew', async () => {
    const { clock, api, stop, owner } = setUp();
    await clock.advance(1_000);
    owner.uid = 'u2';
    await clock.advance(9_000);
    expect(api.lease?.metadata.ownerReferences?.[0]?.uid).toBe('u2');
    stop.abort();
  });

  it('is tried again with a growing pause while the API server is away, and renewed at once when it is back', async () => {
    const { clock, api, stop } = setUp();
    api.failure = new ApiUnreachable('away');
    await clock.advance(60_000);
    const tries = api.calls.length;
    expect(tries).toBeGreaterThan(8);
    expect(tries).toBeLessThan(16);
    api.failure = undefined;
    await clock.advance(7_000);
    expect(api.lease).toBeDefined();
    stop.abort();
  });

  it('ends with its signal', async () => {
    const { clock, stop, running } = setUp();
    await clock.advance(5_000);
    stop.abort();
    await expect(running).resolves.toBeUndefined();
  });
});
