import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Kube } from '../../e2e/parts/kube.ts';
import { TestBed } from '../../e2e/parts/test-bed.ts';
import { waitFor } from '../../e2e/parts/wait.ts';
import { ProviderError } from '../../providers/contract/index.ts';
import { ApiClient } from '../kube/client.ts';
import { EventRecorder } from '../kube/events.ts';
import { loadKubeConfig } from '../kube/kubeconfig.ts';
import { LeaseApi, NodeApi, watchNode } from '../kube/nodes.ts';
import { HOST } from '../testing/fake-node-objects.ts';
import { silentLog } from '../testing/silent-log.ts';
import { systemClock } from '../util/clock.ts';
import { NodeAgent } from './agent.ts';
import { PodNetworks } from './pod-networks.ts';

const clock = systemClock;
const log = silentLog();

function until(what: string, check: () => Promise<boolean>): Promise<unknown> {
  return waitFor(check, { what });
}

describe.each(['node identity', 'service account'])('a node of a real API server, with a %s', (identity) => {
  const name = `agent-${identity.slice(0, 4)}`;
  const stop = new AbortController();
  const backend = { down: false };
  let bed: TestBed;
  let kube: Kube;
  let running: Promise<void>;
  let agent: NodeAgent;
  let client: ApiClient;

  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
    kube = bed.kube;
    const file =
      identity === 'node identity' ? await bed.plane.nodeKubeconfig(name) : await bed.plane.serviceAccountKubeconfig();
    client = new ApiClient({ credentials: loadKubeConfig({ file }), clock });
    const recorder = new EventRecorder({
      client,
      clock,
      log,
      random: Math.random,
      nodeName: name,
      qps: 50,
      burst: 100,
    });
    agent = new NodeAgent({
      config: {
        name,
        provider: 'none',
        providerConfig: {},
        nodeIPs: ['127.0.0.1'],
        address: '127.0.0.1',
        port: 10250,
        readOnlyPort: 0,
        systemLogDir: '/var/log',
        serving: { type: 'selfSigned' },
        certDir: '/nowhere',
        register: true,
        labels: { type: 'virtual-kubelet', 'node.kubernetes.io/exclude-from-external-load-balancers': '' },
        taints: [{ key: 'virtual-kubelet.io/provider', value: 'none', effect: 'NoSchedule' }],
        podsPerCore: 0,
        reserved: { cpuMilli: 500, memoryBytes: 0, ephemeralBytes: 0 },
      },
      nodeStatus: { updateFrequencyMs: 2_000, reportFrequencyMs: 300_000, leaseDurationSeconds: 40, maxImages: 50 },
      productVersion: '0.0.0',
      kubeletPort: 10250,
      provider: {
        traits: { network: { subnet: 'required' } },
        describeHost: async () => {
          if (backend.down) throw new ProviderError('Unavailable', 'nobody is there');
          return HOST;
        },
      },
      nodes: new NodeApi(client),
      leases: new LeaseApi(client),
      watch: (changed, { signal }) =>
        watchNode({
          nodeName: name,
          client,
          clock,
          log,
          handler: ({ type, object }) => changed(type === 'deleted' ? undefined : object),
        }).run({ signal }),
      events: (node, event) => recorder.node(node.name, node.uid, event),
      plegHealth: () => ({ healthy: true, lastSeenMs: clock.now() }),
      networks: new PodNetworks([]),
      clock,
      random: Math.random,
      log,
    });
    running = agent.run({ signal: stop.signal });
  });

  afterAll(async () => {
    stop.abort(new Error('test ended'));
    await running;
    client.close();
    await kube.delete('Node', name);
    await bed.close();
  });

  function ready(status: string): Promise<unknown> {
    return kube.waitFor(
      'Node',
      name,
      `Ready=${status}`,
      (node) =>
        node.status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === status) ??
        false,
    );
  }

  it('becomes Ready as soon as the controller manager gave it a pod network', async () => {
    await ready('True');
    const node = await kube.get('Node', name);
    expect(node.metadata.labels).toMatchObject({ 'kubernetes.io/os': 'linux', type: 'virtual-kubelet' });
    expect(node.spec?.taints).toContainEqual({
      key: 'virtual-kubelet.io/provider',
      value: 'none',
      effect: 'NoSchedule',
    });
    expect(node.status?.allocatable).toMatchObject({ cpu: '3500m', memory: '8Gi', pods: '110' });
    await until('the node knows its pod network', async () => agent.facts()?.podCidr === node.spec?.podCIDR);
  });

  it('says in its condition when the backend cannot be asked; foreign conditions and resources survive', async () => {
    await kube.patch(
      'Node',
      name,
      { status: { capacity: { 'example.com/dongle': '4' }, conditions: [{ type: 'Foreign', status: 'True' }] } },
      { subresource: 'status', type: 'strategic' },
    );
    backend.down = true;
    await ready('False');
    const node = await kube.get('Node', name);
    expect(node.status?.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      '[container runtime is down, container runtime not ready: RuntimeReady=false reason:Unavailable message:nobody is there]',
    );
    backend.down = false;
    await ready('True');
    const after = await kube.get('Node', name);
    expect(after.status?.conditions?.map(({ type }) => type)).toContain('Foreign');
    expect(after.status?.allocatable).toMatchObject({ 'example.com/dongle': '4' });
  });

  it('is registered again when somebody deletes it, and its lease follows', async () => {
    const before = agent.nodeUid;
    await kube.delete('Node', name);
    await until('the node is registered again', async () => ![undefined, before].includes(agent.nodeUid));
    await ready('True');
    await until('the lease belongs to the new node', async () => {
      const lease = await kube.find('Lease', name, 'kube-node-lease');
      return lease?.metadata.ownerReferences?.[0]?.uid === agent.nodeUid;
    });
  });

  it('tells its events with the UID of the Node', async () => {
    await until('the events of the start', async () => {
      const events = await kube.list('Event', 'default', { fieldSelector: `involvedObject.name=${name}` });
      const reasons = events
        .filter(({ involvedObject }) => (involvedObject.uid ?? '') !== '')
        .map(({ reason }) => reason);
      return ['Starting', 'NodeHasSufficientMemory', 'NodeReady'].every((reason) => reasons.includes(reason));
    });
  });
});
