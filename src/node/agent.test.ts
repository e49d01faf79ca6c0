import { describe, expect, it } from 'vitest';
import { existingNode, setUpAgent } from '../testing/agent-setup.ts';

describe('a node that is not there yet', () => {
  it('is registered at once, Ready, with its labels, taints, capacity and lease', async () => {
    const { clock, api, agent } = setUpAgent();
    await clock.advance(0);
    expect(api.node).toMatchObject({
      metadata: {
        name: 'n1',
        labels: {
          type: 'virtual-kubelet',
          'kubernetes.io/hostname': 'n1',
          'kubernetes.io/os': 'linux',
          'beta.kubernetes.io/arch': 'amd64',
        },
        annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      },
      spec: { taints: [{ key: 'virtual-kubelet.io/provider', value: 'docker', effect: 'NoSchedule' }] },
      status: {
        capacity: { cpu: '4', memory: '8Gi', pods: '110' },
        allocatable: { cpu: '3', memory: '8Gi', pods: '110' },
        addresses: [
          { type: 'InternalIP', address: '10.0.0.5' },
          { type: 'Hostname', address: 'n1' },
        ],
        daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
        nodeInfo: { kubeletVersion: 'v1.36.3-outrigger-0.1.0' },
      },
    });
    expect(api.node?.spec).not.toHaveProperty('podCIDR');
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    expect(api.lease?.metadata.ownerReferences?.[0]?.uid).toBe('node-uid-1');
    expect(agent.nodeUid).toBe('node-uid-1');
  });

  it('tells its start in the order of a kubelet, with the UID of the Node', async () => {
    const { clock, events } = setUpAgent();
    await clock.advance(0);
    expect(events).toEqual([
      'node-uid-1 Normal Starting: Starting kubelet.',
      'node-uid-1 Normal NodeHasSufficientMemory: Node n1 status is now: NodeHasSufficientMemory',
      'node-uid-1 Normal NodeHasNoDiskPressure: Node n1 status is now: NodeHasNoDiskPressure',
      'node-uid-1 Normal NodeHasSufficientPID: Node n1 status is now: NodeHasSufficientPID',
      'node-uid-1 Normal NodeReady: Node n1 status is now: NodeReady',
    ]);
  });

  it('has the pod network and the provider id that were configured', async () => {
    const { clock, api } = setUpAgent({ config: { podCidr: '10.1.0.0/24', providerId: 'x://n1', taints: [] } });
    await clock.advance(0);
    expect(api.node?.spec).toEqual({ podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'], providerID: 'x://n1' });
  });

  it('is registered NotReady after five seconds when the backend says nothing, and keeps its lease', async () => {
    const provider = {
      traits: { network: { subnet: 'unused' } as const },
      describeHost: () => new Promise<never>(() => {}),
    };
    const { clock, api, agent } = setUpAgent({ options: { provider } });
    await clock.advance(4_900);
    expect(api.node).toBeUndefined();
    await clock.advance(100);
    expect(api.condition('Ready')).toMatchObject({
      status: 'False',
      message: 'container runtime status check may not have completed yet',
    });
    expect(api.lease).toBeDefined();
    expect(agent.facts()).toBeUndefined();
  });

  it('is only waited for with --register-node=false', async () => {
    const { clock, api } = setUpAgent({ config: { register: false } });
    await clock.advance(30_000);
    expect(api.count('create')).toBe(0);
    expect(api.lease).toBeUndefined();
    api.node = existingNode;
    await clock.advance(10_000);
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    expect(api.lease).toBeDefined();
  });
});

describe('a node that is there already', () => {
  it('gets its own labels and status right, and everything else stays', async () => {
    const { clock, api } = setUpAgent({ existing: existingNode });
    await clock.advance(0);
    expect(api.count('create')).toBe(0);
    expect(api.node?.metadata.labels).toMatchObject({ 'kubernetes.io/os': 'linux', team: 'blue' });
    expect(api.node?.metadata.labels).not.toHaveProperty('type');
    expect(api.node?.spec?.taints).toEqual([]);
    expect(api.node?.status?.capacity).toMatchObject({ cpu: '4', 'example.com/dongle': '4' });
    expect(api.node?.status?.allocatable).toMatchObject({ cpu: '3', 'example.com/dongle': '4' });
    expect(api.node?.status?.conditions?.map(({ type }) => type)).toEqual([
      'Ready',
      'NetworkUnavailable',
      'MemoryPressure',
      'DiskPressure',
      'PIDPressure',
    ]);
    expect(api.condition('NetworkUnavailable')).toMatchObject({ reason: 'RouteCreated' });
  });

  it('tells that the machine was rebooted', async () => {
    const { clock, events } = setUpAgent({ existing: existingNode });
    await clock.advance(0);
    expect(events).toContain('old Warning Rebooted: Node n1 has been rebooted, boot id: boot-1');
    expect(events.at(-1)).toContain('NodeReady');
  });
});

describe('an idle node', () => {
  it('writes nothing but its lease, and its unchanged status every five minutes', async () => {
    const { clock, api } = setUpAgent();
    await clock.advance(299_000);
    expect(api.patches).toEqual([]);
    expect(api.count('lease replace')).toBeGreaterThan(27);
    await clock.advance(15_000);
    expect(api.patches).toHaveLength(1);
    expect(Object.keys(api.patches[0]?.status ?? {})).toEqual(['conditions']);
    await clock.advance(290_000);
    expect(api.patches).toHaveLength(1);
  });
});

describe('when others touch the Node', () => {
  it('a deleted Node is registered again at once, and its lease follows', async () => {
    const { clock, api, agent, changed } = setUpAgent();
    await clock.advance(3_000);
    api.node = undefined;
    changed();
    await clock.advance(200);
    expect(agent.nodeUid).toBe('node-uid-2');
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    await clock.advance(10_000);
    expect(api.lease?.metadata.ownerReferences?.[0]?.uid).toBe('node-uid-2');
  });

  it('without a watch that is seen at the next heartbeat', async () => {
    const { clock, api } = setUpAgent();
    await clock.advance(3_000);
    api.node = undefined;
    await clock.advance(8_000);
    expect(api.node).toBeDefined();
  });

  it('labels and taints reach the facts, listeners are told, and removed os labels come back', async () => {
    const { clock, api, agent, changed } = setUpAgent();
    await clock.advance(0);
    let told = 0;
    const off = agent.onFactsChanged(() => told++);
    api.edit((node) => ({
      ...node,
      metadata: { ...node.metadata, labels: { zone: 'z' } },
      spec: { taints: [{ key: 'a', effect: 'NoExecute' }] },
    }));
    changed();
    await clock.advance(200);
    expect(agent.facts()).toMatchObject({ taints: [{ key: 'a', effect: 'NoExecute' }] });
    expect(api.node?.metadata.labels).toEqual({
      zone: 'z',
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'beta.kubernetes.io/os': 'linux',
      'beta.kubernetes.io/arch': 'amd64',
    });
    expect(told).toBeGreaterThan(0);
    off();
  });

  it('a cordoned node says so', async () => {
    const { clock, api, events, changed } = setUpAgent();
    await clock.advance(0);
    api.edit((node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
    changed();
    await clock.advance(200);
    expect(events.at(-1)).toContain('Node n1 status is now: NodeNotSchedulable');
  });

  it('refresh reads the Node now', async () => {
    const { clock, api, agent, stop } = setUpAgent();
    await clock.advance(0);
    api.edit((node) => ({ ...node, metadata: { ...node.metadata, labels: { fresh: 'yes' } } }));
    await agent.refresh({ signal: stop.signal });
    expect(agent.facts()).toMatchObject({ labels: { fresh: 'yes' } });
  });
});

describe('the end', () => {
  it('leaves Node and lease as they are', async () => {
    const { clock, api, running, stop } = setUpAgent();
    await clock.advance(1_000);
    stop.abort(new Error('stopped'));
    await expect(running).resolves.toBeUndefined();
    expect(api.node).toBeDefined();
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    expect(api.lease).toBeDefined();
  });
});
