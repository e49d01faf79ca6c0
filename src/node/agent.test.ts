import { afterEach, describe, expect, it } from 'vitest';
import { type HostReport, ProviderError } from '../../providers/contract/index.ts';
import type { NodeConfig } from '../config/config.ts';
import { ApiUnreachable } from '../kube/errors.ts';
import type { Node } from '../model/pod.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { FakeNodeObjects, HOST } from '../testing/fake-node-objects.ts';
import { silentLog } from '../testing/silent-log.ts';
import { NodeAgent, type NodeAgentOptions } from './agent.ts';
import { PodNetworks } from './pod-networks.ts';

const CONFIG: NodeConfig = {
  name: 'n1',
  provider: 'docker',
  providerConfig: {},
  nodeIPs: [],
  address: '0.0.0.0',
  port: 10250,
  register: true,
  labels: { type: 'virtual-kubelet' },
  taints: [{ key: 'virtual-kubelet.io/provider', value: 'docker', effect: 'NoSchedule' }],
  podsPerCore: 0,
  reserved: { cpuMilli: 1000, memoryBytes: 0, ephemeralBytes: 0 },
};

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort(new Error('test ended'));
});

interface SetUp {
  readonly config?: Partial<NodeConfig>;
  readonly subnet?: 'required' | 'unused';
  readonly existing?: Node;
  readonly options?: Partial<NodeAgentOptions>;
}

function setUp({ config = {}, subnet = 'unused', existing, options = {} }: SetUp = {}) {
  const clock = new FakeClock();
  const api = new FakeNodeObjects();
  api.node = existing;
  const events: string[] = [];
  const host = { answer: async (): Promise<HostReport> => HOST };
  const pleg = { healthy: true, lastSeenMs: clock.now() };
  let changed: (node: Node | undefined) => void = () => {};
  const stop = new AbortController();
  stops.push(stop);
  const agent = new NodeAgent({
    config: { ...CONFIG, ...config },
    nodeStatus: { updateFrequencyMs: 10_000, reportFrequencyMs: 300_000, leaseDurationSeconds: 40, maxImages: 50 },
    productVersion: '0.1.0',
    kubeletPort: 10250,
    provider: { traits: { network: { subnet } }, describeHost: () => host.answer() },
    nodes: api.nodes,
    leases: api.leases,
    watch: (handler) => {
      changed = handler;
      return Promise.resolve();
    },
    events: ({ uid }, { type, reason, message }) => events.push(`${uid} ${type} ${reason}: ${message}`),
    plegHealth: () => pleg,
    networks: new PodNetworks([]),
    clock,
    random: () => 0.5,
    log: silentLog(),
    ...options,
  });
  const running = agent.run({ signal: stop.signal });
  return { clock, api, events, host, pleg, agent, running, stop, changed: () => changed(api.node) };
}

const existingNode: Node = {
  metadata: {
    name: 'n1',
    uid: 'old',
    resourceVersion: '0',
    labels: { 'kubernetes.io/os': 'windows', team: 'blue' },
  },
  spec: { taints: [], podCIDR: '10.244.3.0/24' },
  status: {
    capacity: { cpu: '1', 'example.com/dongle': '4' },
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: 'boot-0',
      kernelVersion: '',
      osImage: '',
      containerRuntimeVersion: '',
      kubeletVersion: '',
      kubeProxyVersion: '',
      operatingSystem: '',
      architecture: '',
    },
    conditions: [
      { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown', lastTransitionTime: '2026-01-01T00:00:00Z' },
      { type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' },
    ],
  },
};

describe('a node that is not there yet', () => {
  it('is registered at once, Ready, with its labels, taints, capacity and lease', async () => {
    const { clock, api, agent } = setUp();
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
    const { clock, events } = setUp();
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
    const { clock, api } = setUp({ config: { podCidr: '10.1.0.0/24', providerId: 'x://n1', taints: [] } });
    await clock.advance(0);
    expect(api.node?.spec).toEqual({ podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'], providerID: 'x://n1' });
  });

  it('is registered NotReady after five seconds when the backend says nothing, and keeps its lease', async () => {
    const provider = {
      traits: { network: { subnet: 'unused' } as const },
      describeHost: () => new Promise<never>(() => {}),
    };
    const { clock, api, agent } = setUp({ options: { provider } });
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
    const { clock, api } = setUp({ config: { register: false } });
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
    const { clock, api } = setUp({ existing: existingNode });
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
    const { clock, events } = setUp({ existing: existingNode });
    await clock.advance(0);
    expect(events).toContain('old Warning Rebooted: Node n1 has been rebooted, boot id: boot-1');
    expect(events.at(-1)).toContain('NodeReady');
  });
});

describe('an idle node', () => {
  it('writes nothing but its lease, and its unchanged status every five minutes', async () => {
    const { clock, api } = setUp();
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

describe('when the backend fails', () => {
  const down = (): Promise<HostReport> => Promise.reject(new ProviderError('Unavailable', 'connect ENOENT /x.sock'));

  it('the node is NotReady within a heartbeat, in the words of the backend, and Ready again at once afterwards', async () => {
    const { clock, api, host, events, agent } = setUp();
    await clock.advance(1_000);
    events.length = 0;
    host.answer = down;
    await clock.advance(10_000);
    expect(api.condition('Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message:
        '[container runtime is down, container runtime not ready: RuntimeReady=false reason:Unavailable message:connect ENOENT /x.sock]',
    });
    expect(agent.facts()).toBeDefined();
    const renewals = api.count('lease replace');
    await clock.advance(60_000);
    expect(api.count('lease replace')).toBeGreaterThan(renewals + 4);
    expect(api.patches).toHaveLength(1);
    host.answer = async () => HOST;
    await clock.advance(1_200);
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    expect(events.map((event) => event.split(' ')[2])).toEqual(['NodeNotReady:', 'NodeReady:']);
  });

  it('the same goes for a PLEG that has not listed for three minutes', async () => {
    const { clock, api, pleg } = setUp();
    await clock.advance(1_000);
    pleg.healthy = false;
    await clock.advance(10_500);
    expect(api.condition('Ready')?.message).toMatch(/^PLEG is not healthy: pleg was last seen active \d+s ago/);
  });
});

describe('the pod network', () => {
  it('is missing until the Node has a podCIDR, and the node is Ready as soon as it has', async () => {
    const { clock, api, agent, changed } = setUp({ subnet: 'required' });
    await clock.advance(5_000);
    expect(api.condition('Ready')?.message).toBe(
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no pod network: neither --pod-cidr nor spec.podCIDR of the node is set',
    );
    expect(agent.facts()).not.toHaveProperty('podCidr');
    api.edit((node) => ({ ...node, spec: { ...node.spec, podCIDR: '10.244.7.0/24' } }));
    changed();
    await clock.advance(200);
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    expect(agent.facts()?.podCidr).toBe('10.244.7.0/24');
  });

  it('is refused when it overlaps that of another node of this process', async () => {
    const networks = new PodNetworks([{ name: 'n2', podCidr: '10.244.0.0/16' }]);
    const { clock, api } = setUp({ subnet: 'required', existing: existingNode, options: { networks } });
    await clock.advance(0);
    expect(api.condition('Ready')?.message).toContain('pod network 10.244.3.0/24 overlaps 10.244.0.0/16 of node n2');
  });
});

describe('when others touch the Node', () => {
  it('a deleted Node is registered again at once, and its lease follows', async () => {
    const { clock, api, agent, changed } = setUp();
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
    const { clock, api } = setUp();
    await clock.advance(3_000);
    api.node = undefined;
    await clock.advance(8_000);
    expect(api.node).toBeDefined();
  });

  it('labels and taints reach the facts, listeners are told, and removed os labels come back', async () => {
    const { clock, api, agent, changed } = setUp();
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
    const { clock, api, events, changed } = setUp();
    await clock.advance(0);
    api.edit((node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
    changed();
    await clock.advance(200);
    expect(events.at(-1)).toContain('Node n1 status is now: NodeNotSchedulable');
  });

  it('refresh reads the Node now', async () => {
    const { clock, api, agent, stop } = setUp();
    await clock.advance(0);
    api.edit((node) => ({ ...node, metadata: { ...node.metadata, labels: { fresh: 'yes' } } }));
    await agent.refresh({ signal: stop.signal });
    expect(agent.facts()).toMatchObject({ labels: { fresh: 'yes' } });
  });
});

describe('while the API server is away', () => {
  it('it is tried again soon, not forever fast, and the status catches up when it is back', async () => {
    const { clock, api, host } = setUp();
    await clock.advance(1_000);
    api.failure = new ApiUnreachable('away');
    const before = api.count('get');
    host.answer = () => Promise.reject(new ProviderError('Unavailable', 'gone'));
    await clock.advance(60_000);
    expect(api.count('get') - before).toBeLessThan(20);
    api.failure = undefined;
    await clock.advance(10_000);
    expect(api.condition('Ready')).toMatchObject({ status: 'False' });
  });

  it('a first registration waits for it', async () => {
    const { clock, api } = setUp();
    api.failure = new ApiUnreachable('away');
    await clock.advance(20_000);
    expect(api.node).toBeUndefined();
    api.failure = undefined;
    await clock.advance(10_000);
    expect(api.node).toBeDefined();
    expect(api.lease).toBeDefined();
  });
});

describe('the end', () => {
  it('leaves Node and lease as they are', async () => {
    const { clock, api, running, stop } = setUp();
    await clock.advance(1_000);
    stop.abort(new Error('stopped'));
    await expect(running).resolves.toBeUndefined();
    expect(api.node).toBeDefined();
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    expect(api.lease).toBeDefined();
  });
});
