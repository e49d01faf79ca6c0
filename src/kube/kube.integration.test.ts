import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Kube } from '../../e2e/parts/kube.ts';
import { TestBed } from '../../e2e/parts/test-bed.ts';
import type { Pod, PodStatus } from '../model/pod.ts';
import { StatusWriter } from '../status/writer.ts';
import { systemClock } from '../util/clock.ts';
import { ApiClient } from './client.ts';
import { EventRecorder } from './events.ts';
import type { Delta } from './known.ts';
import { loadKubeConfig } from './kubeconfig.ts';
import { LeaseApi, microTime, NodeApi } from './nodes.ts';
import { ObjectCache } from './objects.ts';
import { PodApi, watchPods } from './pods.ts';
import { ServiceStore } from './services.ts';
import { TokenApi } from './tokens.ts';

const log = pino({ level: 'silent' });
const clock = systemClock;

describe.each(['node identity', 'service account'])('the API server, with a %s', (identity) => {
  const nodeName = `kube-${identity.slice(0, 4)}`;
  const stop = new AbortController();
  const { signal } = stop;
  let bed: TestBed;
  let kube: Kube;
  let namespace: string;
  let client: ApiClient;
  let pods: PodApi;
  let nodes: NodeApi;
  const deltas: Delta<Pod>[] = [];
  let writer: StatusWriter;

  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
    kube = bed.kube;
    namespace = await kube.createNamespace('kube-layer');
    const file =
      identity === 'node identity'
        ? await bed.plane.nodeKubeconfig(nodeName)
        : await bed.plane.serviceAccountKubeconfig();
    client = new ApiClient({ credentials: loadKubeConfig({ file }), clock });
    pods = new PodApi(client);
    nodes = new NodeApi(client);
    writer = new StatusWriter({ pods, clock, log, signal });
    await nodes.create({ metadata: { name: nodeName } }, { signal });
    const source = watchPods({
      client,
      clock,
      log,
      nodeName,
      handler: (delta) => {
        deltas.push(delta);
        if (delta.type !== 'deleted') writer.observeApi(delta.object);
      },
    });
    void source.run({ signal });
    await source.synced;
  });

  afterAll(async () => {
    stop.abort();
    client?.close();
    await kube?.delete('Node', nodeName);
    await kube?.delete('Namespace', namespace);
    await bed?.close();
  });

  const types = (uid: string): string =>
    deltas
      .filter(({ object }) => object.metadata.uid === uid)
      .map(({ type }) => type)
      .join(' ');
  const bind = async (name: string, more: object = {}): Promise<Pod> => {
    const created = await kube.create({
      kind: 'Pod',
      metadata: { name, namespace },
      spec: { nodeName, containers: [{ name: 'c', image: 'i' }], ...more },
    });
    await expect.poll(() => types(created.metadata.uid)).toContain('added');
    const delta = deltas.findLast(({ object }) => object.metadata.uid === created.metadata.uid);
    if (delta === undefined) throw new Error('no delta');
    return delta.object;
  };
  const statusOf = async (name: string): Promise<PodStatus> => (await kube.get('Pod', name, namespace)).status ?? {};

  it('reports the node: conditions of others survive, addresses and resources are ours', async () => {
    await kube.patch(
      'Node',
      nodeName,
      { status: { conditions: [{ type: 'Theirs', status: 'True', reason: 'X', message: 'm' }] } },
      { type: 'strategic', subresource: 'status' },
    );
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'm' };
    const first = {
      conditions: [ready],
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: 'fd00::1' },
      ],
      capacity: { cpu: '2', 'example.com/gpu': '1' },
    };
    await nodes.patchStatus(nodeName, first, { metadata: { labels: { 'kubernetes.io/os': 'linux' } }, signal });
    const second = { ...first, capacity: { cpu: '3' }, addresses: first.addresses.slice(1) };
    const node = await nodes.patchStatus(nodeName, second, { previous: first, signal });
    expect(node.metadata.labels).toMatchObject({ 'kubernetes.io/os': 'linux' });
    expect(node.status?.capacity).toEqual({ cpu: '3' });
    expect(node.status?.addresses).toEqual([{ type: 'InternalIP', address: 'fd00::1' }]);
    expect(node.status?.conditions?.map(({ type }) => type).sort()).toEqual(['Ready', 'Theirs']);
    expect(await nodes.get('missing-or-forbidden', { signal }).catch(({ status }) => status)).toSatisfy(
      (answer) => answer === undefined || answer === 403,
    );
  });

  it('keeps the lease', async () => {
    const leases = new LeaseApi(client);
    const spec = { holderIdentity: nodeName, leaseDurationSeconds: 40, renewTime: microTime(clock.now()) };
    const lease = await leases.create({ metadata: { name: nodeName }, spec }, { signal });
    const renewTime = microTime(clock.now() + 1234);
    await leases.replace({ ...lease, spec: { ...spec, renewTime } }, { signal });
    expect((await leases.get(nodeName, { signal }))?.spec?.renewTime).toBe(renewTime);
    await expect(leases.replace(lease, { signal })).rejects.toMatchObject({ status: 409 });
  });

  it('writes the status: own conditions come and go, those of others and their order survive', async () => {
    const pod = await bind('status', { readinessGates: [{ conditionType: 'example.com/gate' }] });
    const at = '2026-01-02T03:04:05Z';
    const condition = (type: string, status: string, more: object = {}) => ({
      type,
      status,
      lastTransitionTime: at,
      ...more,
    });
    const containers = (ready: boolean) => [
      { name: 'c', image: 'i', imageID: '', ready, restartCount: 0, state: { running: { startedAt: at } } },
    ];
    const first: PodStatus = {
      phase: 'Pending',
      startTime: at,
      podIP: '10.1.0.5',
      podIPs: [{ ip: '10.1.0.5' }, { ip: 'fd00::5' }],
      hostIP: '10.0.0.1',
      hostIPs: [{ ip: '10.0.0.1' }],
      conditions: [
        condition('PodResizePending', 'True', { reason: 'Deferred', message: 'm' }),
        condition('Ready', 'False', { reason: 'ContainersNotReady', message: 'no' }),
        condition('PodScheduled', 'True'),
      ],
      containerStatuses: containers(false),
    };
    await writer.flush(pod, first, { signal });
    await kube.patch(
      'Pod',
      'status',
      { status: { conditions: [condition('example.com/gate', 'True')] } },
      { namespace, type: 'strategic', subresource: 'status' },
    );
    await writer.flush(
      pod,
      {
        ...first,
        phase: 'Running',
        podIPs: [{ ip: '10.1.0.5' }],
        conditions: [
          condition('Ready', 'True'),
          condition('ContainersReady', 'True'),
          condition('PodScheduled', 'True'),
        ],
        containerStatuses: containers(true),
      },
      { signal },
    );
    const status = await statusOf('status');
    expect(status).toMatchObject({ phase: 'Running', podIPs: [{ ip: '10.1.0.5' }], startTime: at });
    expect(status.containerStatuses?.[0]).toMatchObject({ ready: true });
    const conditions = Object.fromEntries((status.conditions ?? []).map(({ type, ...rest }) => [type, rest]));
    expect(Object.keys(conditions).sort()).toEqual(['ContainersReady', 'PodScheduled', 'Ready', 'example.com/gate']);
    expect(conditions['Ready']).toEqual({ status: 'True', lastProbeTime: null, lastTransitionTime: at });
    expect((status.conditions ?? []).map(({ type }) => type).filter((type) => type !== 'example.com/gate')).toEqual([
      'Ready',
      'ContainersReady',
      'PodScheduled',
    ]);
  });

  it('sends its status again after a foreign edit, and leaves an idle pod alone', async () => {
    const pod = await bind('edited');
    await writer.flush(pod, { phase: 'Running', message: 'mine' }, { signal });
    const before = (await kube.get('Pod', 'edited', namespace)).metadata.resourceVersion;
    await writer.flush(pod, { phase: 'Running', message: 'mine' }, { signal });
    expect((await kube.get('Pod', 'edited', namespace)).metadata.resourceVersion).toBe(before);
    const theirs = { status: { message: 'theirs' } };
    await kube.patch('Pod', 'edited', theirs, { namespace, type: 'strategic', subresource: 'status' });
    await expect.poll(async () => (await statusOf('edited')).message).toBe('mine');
  });

  it('ends a pod: terminal status, then DELETE; a pod of the same name is another one', async () => {
    const pod = await bind('ended');
    await kube.delete('Pod', 'ended', { namespace, graceSeconds: 30 });
    await writer.flush(pod, { phase: 'Failed', reason: 'Test' }, { signal });
    expect(await statusOf('ended')).toMatchObject({ phase: 'Failed', reason: 'Test' });
    await writer.remove(pod, { signal });
    await kube.waitGone('Pod', 'ended', { namespace });
    await expect.poll(() => types(pod.metadata.uid)).toMatch(/deleted$/);
    const next = await bind('ended');
    expect(await pods.patchStatus(pod, { message: 'late' }, { signal })).toEqual({ type: 'gone' });
    await pods.remove(pod, { signal });
    expect(await pods.get(pod, { signal })).toBeUndefined();
    expect((await kube.get('Pod', 'ended', namespace)).metadata.uid).toBe(next.metadata.uid);
  });

  it('knows that a pod is gone when its name belongs to a pod of another node', async () => {
    const pod = await bind('moved');
    await pods.remove(pod, { signal });
    await kube.waitGone('Pod', 'moved', { namespace });
    await kube.create({
      kind: 'Pod',
      metadata: { name: 'moved', namespace },
      spec: { nodeName: 'elsewhere', containers: [{ name: 'c', image: 'i' }] },
    });
    expect(await pods.patchStatus(pod, { message: 'late' }, { signal })).toEqual({ type: 'gone' });
    await pods.remove(pod, { signal });
    expect((await kube.get('Pod', 'moved', namespace)).spec?.nodeName).toBe('elsewhere');
  });

  it('gets tokens that are bound to a pod', async () => {
    const pod = await bind('token');
    const tokens = new TokenApi(client, clock);
    const { token, expiresAtMs } = await tokens.request(pod, 'default', { expirationSeconds: 3607, signal });
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(claims['kubernetes.io'].pod).toEqual({ name: 'token', uid: pod.metadata.uid });
    expect(expiresAtMs - clock.now()).toBeGreaterThan(3500_000);
  });

  it('reads ConfigMaps and Secrets of its pods, and tells who uses what has changed', async () => {
    await kube.create({ kind: 'ConfigMap', metadata: { name: 'cm', namespace }, data: { key: '1' } });
    const optional = true;
    const volumes = [
      { name: 'a', configMap: { name: 'cm' } },
      { name: 'b', secret: { secretName: 'missing', optional } },
    ];
    const { uid } = (await bind('objects', { volumes })).metadata;
    const changed: string[] = [];
    const cache = new ObjectCache({ client, clock, log, signal, onChange: (uids) => changed.push(...uids) });
    cache.acquire(uid, 'ConfigMap', namespace, 'cm');
    cache.acquire(uid, 'ConfigMap', namespace, 'kube-root-ca.crt');
    cache.acquire(uid, 'Secret', namespace, 'missing');
    expect((await cache.get('ConfigMap', namespace, 'cm', { signal }))?.data).toEqual({ key: '1' });
    expect((await cache.get('ConfigMap', namespace, 'kube-root-ca.crt', { signal }))?.data?.['ca.crt']).toContain(
      'BEGIN',
    );
    expect(await cache.get('Secret', namespace, 'missing', { signal })).toBeUndefined();
    await kube.patch('ConfigMap', 'cm', { data: { key: '2' } }, { namespace });
    await expect.poll(() => changed).toEqual([uid]);
    expect((await cache.get('ConfigMap', namespace, 'cm', { signal }))?.data).toEqual({ key: '2' });
  });

  it('knows the services that have a cluster IP', async () => {
    const services = new ServiceStore({ client, clock, log });
    expect(services.forNamespace('default')).toBeUndefined();
    void services.run({ signal });
    await services.synced;
    await expect
      .poll(() => services.forNamespace('default')?.map(({ metadata }) => metadata.name))
      .toContain('kubernetes');
  });

  it('records events, and counts the same one up', async () => {
    const pod = await bind('events');
    const events = new EventRecorder({ client, clock, log, nodeName });
    const started = { type: 'Normal', reason: 'Started', message: 'Container started' } as const;
    events.pod(pod, { ...started, fieldPath: 'spec.containers{c}' });
    events.pod(pod, { ...started, fieldPath: 'spec.containers{c}' });
    const { uid } = (await nodes.get(nodeName, { signal }))?.metadata ?? { uid: '' };
    events.node(nodeName, uid, { type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' });
    await events.close({ signal: AbortSignal.timeout(5000) });
    expect(events.dropped).toBe(0);
    const [event, ...others] = await kube.list('Event', namespace, { fieldSelector: 'involvedObject.name=events' });
    expect(others).toEqual([]);
    expect(event).toMatchObject({
      count: 2,
      type: 'Normal',
      reason: 'Started',
      source: { component: 'kubelet', host: nodeName },
      reportingComponent: 'kubelet',
      reportingInstance: nodeName,
      involvedObject: { kind: 'Pod', uid: pod.metadata.uid, fieldPath: 'spec.containers{c}' },
    });
    expect(event?.metadata.name).toMatch(/^events\.[0-9a-f]{16}$/);
    const ofNode = await kube.list('Event', 'default', { fieldSelector: `involvedObject.uid=${uid}` });
    expect(ofNode.map(({ message }) => message)).toContain('Starting kubelet.');
  });
});
