import { onTestFinished } from 'vitest';
import type { HostReport } from '../../providers/contract/index.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Node } from '../model/pod.ts';
import { NodeAgent, type NodeAgentOptions } from '../node/agent.ts';
import { PodNetworks } from '../node/pod-networks.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeNodeObjects, HOST } from './fake-node-objects.ts';
import { silentLog } from './silent-log.ts';

const CONFIG: NodeConfig = {
  name: 'n1',
  provider: 'docker',
  providerConfig: {},
  nodeIPs: [],
  address: '0.0.0.0',
  port: 10250,
  readOnlyPort: 0,
  systemLogDir: '/var/log',
  serving: { type: 'selfSigned' },
  certDir: '/nowhere',
  register: true,
  labels: { type: 'virtual-kubelet' },
  taints: [{ key: 'virtual-kubelet.io/provider', value: 'docker', effect: 'NoSchedule' }],
  podsPerCore: 0,
  reserved: { cpuMilli: 1000, memoryBytes: 0, ephemeralBytes: 0 },
};

export interface AgentSetUp {
  readonly config?: Partial<NodeConfig>;
  readonly subnet?: 'required' | 'unused';
  readonly existing?: Node;
  readonly options?: Partial<NodeAgentOptions>;
}

/** A node agent that runs until the test ends, over API objects in memory and a backend that answers as the test says. */
export function setUpAgent({ config = {}, subnet = 'unused', existing, options = {} }: AgentSetUp = {}) {
  const clock = new FakeClock();
  const api = new FakeNodeObjects();
  api.node = existing;
  const events: string[] = [];
  const host = { answer: async (): Promise<HostReport> => HOST };
  const pleg = { healthy: true, lastSeenMs: clock.now() };
  let changed: (node: Node | undefined) => void = () => {};
  const stop = new AbortController();
  onTestFinished(() => stop.abort(new Error('test ended')));
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

/** A Node that somebody made before, and that others have a part in. */
export const existingNode: Node = {
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
