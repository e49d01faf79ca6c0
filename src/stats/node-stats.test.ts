import { describe, expect, it } from 'vitest';
import type { ContainerSpec, ObservedPod, PodUid, SandboxSpec } from '../../providers/contract/index.ts';
import { FakeBackend } from '../../providers/fake/backend.ts';
import { FakeContainerProvider } from '../../providers/fake/container-provider.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { silentLog } from '../testing/silent-log.ts';
import { NodeStats } from './node-stats.ts';
import { Sampler } from './sampler.ts';

const { signal } = new AbortController();

function sandboxOf(index: number): SandboxSpec {
  return {
    pod: { uid: `uid-${index}` as PodUid, namespace: 'ns', name: `pod-${index}` },
    attempt: 0,
    hostname: `pod-${index}`,
    network: { mode: 'pod', ports: [], hostAliases: [] },
    volumes: [],
    sharePidNamespace: false,
    labels: {},
    hints: {},
  };
}

function containerOf(name: string): ContainerSpec {
  const nothing = { env: [], mounts: [], resources: {}, security: {}, labels: {} };
  const terminal = { tty: false, stdin: false, stdinOnce: false };
  return { name, attempt: 0, role: 'main', image: 'i:1', ...nothing, terminal };
}

async function node(pods: number) {
  const clock = new FakeClock();
  const backend = new FakeBackend(clock);
  const provider = new FakeContainerProvider(backend, { nodeName: 'node', ownerLabels: { node: 'node' } });
  await provider.images.pullImage('i:1', [], { signal });
  for (let index = 0; index < pods; index++) {
    await provider.ensureSandbox(sandboxOf(index), { signal });
    for (const name of ['a', 'b']) await provider.startContainer(sandboxOf(index), containerOf(name), { signal });
  }
  const sampler = new Sampler({ facet: provider.stats, clock, random: () => 0.5, log: silentLog() });
  const observed = new Map<PodUid, ObservedPod>();
  const look = async (): Promise<void> => {
    observed.clear();
    for (const pod of await provider.list({ signal })) observed.set(pod.pod.uid, pod);
  };
  await look();
  const stats = new NodeStats({
    nodeName: 'node',
    sampler,
    observed: { get: (uid) => ({ pod: observed.get(uid), at: 1 }) },
    desired: { get: () => undefined },
  });
  return { clock, backend, provider, sampler, stats, look };
}

describe('the stats of a node', () => {
  it('follow what its containers use', async () => {
    const { clock, backend, sampler, stats } = await node(1);
    const ref = { podUid: 'uid-0' as PodUid, container: 'a', attempt: 0 };
    backend.use(ref, { cpuMilli: 250, memoryBytes: 1_000_000 });
    await sampler.refresh({ signal });
    await clock.advance(10_000);
    await sampler.refresh({ signal });
    expect(stats.summary(false)).toMatchObject({
      pods: [
        {
          podRef: { name: 'pod-0' },
          containers: [
            { name: 'a', cpu: { usageNanoCores: 250_000_000 }, memory: { workingSetBytes: 1_000_000 } },
            { name: 'b' },
          ],
        },
      ],
    });
  });

  it('do not ask the backend when they are told', async () => {
    const { backend, sampler, stats } = await node(1);
    await sampler.refresh({ signal });
    backend.faults.calls.length = 0;
    stats.summary(false);
    stats.resource();
    stats.cadvisor();
    expect(backend.faults.calls).toEqual([]);
  });

  it('of a backend that cannot be asked say why', async () => {
    const { backend, sampler, stats } = await node(0);
    expect(() => stats.summary(false)).toThrow('failed to list pod stats: the backend has not been measured yet');
    backend.faults.setUnavailable('engine away');
    await sampler.refresh({ signal });
    expect(() => stats.summary(false)).toThrow('failed to list pod stats: engine away');
    expect(stats.resource()).toContain('resource_scrape_error 1');
    expect(stats.cadvisor()).toContain('container_scrape_error 1');
  });

  it('of a hundred pods are told within a tenth of a second', async () => {
    const { clock, sampler, stats } = await node(100);
    await sampler.refresh({ signal });
    await clock.advance(10_000);
    await sampler.refresh({ signal });
    // Time of the processor, not of the clock: the machine may be busy with other things.
    const began = process.cpuUsage();
    JSON.stringify(stats.summary(false));
    stats.resource();
    stats.cadvisor();
    const { user, system } = process.cpuUsage(began);
    // All three together, at their first call.
    expect((user + system) / 1000).toBeLessThan(100);
  });
});
