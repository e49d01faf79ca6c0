import { expect } from 'vitest';
import type { ContainerProvider, ContainerUsage, PodUid, PodUsage, StatsFacet } from '../contract/index.ts';
import { type Case, type Excuse, needsShell } from './case.ts';
import { refOf, type World } from './world.ts';

const MEBIBYTE = 2 ** 20;
const NANOS_PER_MS = 1e6;

const needsStats: Excuse = (provider) => (provider.stats === undefined ? 'no stats facet' : undefined);
const needsStatsAndShell: Excuse = (provider, harness) =>
  needsStats(provider, harness) ?? needsShell(provider, harness);

function statsOf(provider: ContainerProvider): StatsFacet {
  if (provider.stats === undefined) throw new Error('no stats facet');
  return provider.stats;
}

async function usageOf(provider: ContainerProvider, world: World, uid: PodUid): Promise<PodUsage | undefined> {
  return (await statsOf(provider).usage(world.options)).find(({ pod }) => pod.uid === uid);
}

async function mainOf(provider: ContainerProvider, world: World, uid: PodUid): Promise<ContainerUsage | undefined> {
  return (await usageOf(provider, world, uid))?.containers.find(({ name }) => name === 'main');
}

export const containerStats: readonly Case<ContainerProvider>[] = [
  {
    name: 'measures every running container of its pods, by incarnation',
    unless: needsStats,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const main = world.container({ attempt: 2 });
      const side = world.container({ name: 'side' });
      for (const spec of [main, side]) await provider.startContainer(sandbox, spec, world.options);
      await world.until(provider, refOf(sandbox, side), 'running');
      await world.harness.pass(1000);
      const usage = await usageOf(provider, world, sandbox.pod.uid);
      expect(usage?.pod).toEqual(sandbox.pod);
      expect(usage?.containers.map(({ name, attempt }) => `${name}#${attempt}`).toSorted()).toEqual([
        'main#2',
        'side#0',
      ]);
      for (const { timeMs, cpu, memory } of usage?.containers ?? []) {
        expect(timeMs).toBeGreaterThan(0);
        expect(cpu?.usageNanos).toBeGreaterThan(0);
        expect(memory?.workingSetBytes).toBeGreaterThan(0);
        expect(memory?.workingSetBytes).toBeLessThanOrEqual(memory?.usageBytes ?? 0);
      }
    },
  },
  {
    name: 'says nothing of containers that do not run, of pods that are gone, and of the pods of other nodes',
    unless: needsStats,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.container();
      await provider.startContainer(sandbox, spec, world.options);
      await world.until(provider, refOf(sandbox, spec), 'running');
      await provider.stopContainer(refOf(sandbox, spec), { graceSeconds: 0 }, world.options);
      await world.until(provider, refOf(sandbox, spec), 'exited');
      expect(await mainOf(provider, world, sandbox.pod.uid)).toBeUndefined();
      await provider.removeSandbox(sandbox.pod.uid, world.options);
      expect(await usageOf(provider, world, sandbox.pod.uid)).toBeUndefined();
    },
  },
  {
    name: 'counts the processor time of a busy container',
    unless: needsStatsAndShell,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('while :; do :; done', { resources: { cpuLimitMilli: 500 } });
      await provider.startContainer(sandbox, spec, world.options);
      await world.until(provider, refOf(sandbox, spec), 'running');
      const first = await mainOf(provider, world, sandbox.pod.uid);
      await world.harness.pass(3000);
      const second = await mainOf(provider, world, sandbox.pod.uid);
      const wallMs = (second?.timeMs ?? 0) - (first?.timeMs ?? 0);
      const usedMs = ((second?.cpu?.usageNanos ?? 0) - (first?.cpu?.usageNanos ?? 0)) / NANOS_PER_MS;
      // At most what it may have; how much less depends on what else the machine does.
      expect(wallMs).toBeGreaterThan(1000);
      expect(usedMs / wallMs).toBeGreaterThan(0.05);
      expect(usedMs / wallMs).toBeLessThan(0.7);
    },
  },
  {
    name: 'knows the memory that a container holds, and its limit',
    unless: needsStatsAndShell,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      // A variable of the shell: memory that the kernel cannot give back. The shell must not become its last command.
      const script = "x=$(head -c 24000000 /dev/zero | tr '\\0' x); echo held; sleep 3600; echo $x";
      const spec = world.shell(script, { resources: { memoryLimitBytes: 256 * MEBIBYTE } });
      await provider.startContainer(sandbox, spec, world.options);
      const { memory } = await world.eventually(
        'the memory is held',
        async () => (await mainOf(provider, world, sandbox.pod.uid)) ?? { memory: undefined },
        ({ memory: seen }) => (seen?.workingSetBytes ?? 0) > 22 * MEBIBYTE,
      );
      expect(memory?.workingSetBytes).toBeLessThan(200 * MEBIBYTE);
      if (memory?.rssBytes !== undefined) expect(memory.rssBytes).toBeGreaterThan(20 * MEBIBYTE);
      expect(memory?.limitBytes).toBe(256 * MEBIBYTE);
    },
  },
  {
    name: 'names no limit where there is none',
    unless: needsStats,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.container();
      await provider.startContainer(sandbox, spec, world.options);
      await world.until(provider, refOf(sandbox, spec), 'running');
      expect((await mainOf(provider, world, sandbox.pod.uid))?.memory?.limitBytes).toBeUndefined();
    },
  },
  {
    name: 'counts what a pod sends and receives',
    unless: needsStatsAndShell,
    run: async (provider, world) => {
      const [server, client] = [await world.ready(provider), await world.ready(provider)];
      const listen = world.shell('mkdir /w; head -c 3000000 /dev/zero > /w/f; httpd -f -p 8080 -h /w');
      await provider.startContainer(server, listen, world.options);
      await world.until(provider, refOf(server, listen), 'running');
      const [ip = ''] = (await world.pod(provider, server.pod.uid)).ips;
      const fetch = world.shell(`until wget -q -O /dev/null http://${ip}:8080/f; do sleep 0.2; done; sleep 3600`);
      await provider.startContainer(client, fetch, world.options);
      const bytes = async (uid: PodUid, key: 'rxBytes' | 'txBytes'): Promise<number> =>
        ((await usageOf(provider, world, uid))?.network?.interfaces ?? []).reduce((sum, of) => sum + (of[key] ?? 0), 0);
      const enough = (count: number): boolean => count > 2_900_000;
      await world.eventually('received', () => bytes(client.pod.uid, 'rxBytes'), enough);
      await world.eventually('sent', () => bytes(server.pod.uid, 'txBytes'), enough);
      expect(await bytes(client.pod.uid, 'txBytes')).toBeLessThan(1_000_000);
    },
  },
  {
    name: 'knows what a container wrote, beside its logs and volumes',
    unless: needsStatsAndShell,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider, { volumes: [{ name: 'scratch', kind: 'emptyDir', medium: 'disk' }] });
      const script =
        'head -c 5000000 /dev/zero > /written; head -c 3000000 /dev/zero > /scratch/kept; echo done; sleep 3600';
      const spec = world.shell(script, { mounts: [{ volume: 'scratch', path: '/scratch', readOnly: false }] });
      await provider.startContainer(sandbox, spec, world.options);
      await world.until(provider, refOf(sandbox, spec), 'running');
      const seen = await world.eventually(
        'what was written',
        async () => {
          // Another test may be asking at this moment; engines answer one such question at a time.
          const storage = await statsOf(provider)
            .storage(world.options)
            .catch(() => undefined);
          return storage?.pods.find(({ pod }) => pod.uid === sandbox.pod.uid);
        },
        (pod) => (pod?.volumes[0]?.usedBytes ?? 0) >= 3_000_000,
      );
      const [container] = seen?.containers ?? [];
      expect(container).toMatchObject({ name: 'main', attempt: 0 });
      expect(container?.rootfs?.usedBytes).toBeGreaterThanOrEqual(5_000_000);
      expect(container?.rootfs?.usedBytes).toBeLessThan(6_000_000);
      expect(seen?.volumes).toMatchObject([{ name: 'scratch' }]);
      expect(seen?.volumes[0]?.usedBytes).toBeLessThan(4_000_000);
      if (container?.logs?.usedBytes !== undefined) expect(container.logs.usedBytes).toBeLessThan(10_000);
    },
  },
  {
    name: 'measures its host without contradicting itself',
    unless: needsStats,
    run: async (provider, world) => {
      const first = await statsOf(provider).host(world.options);
      await world.harness.pass(1000);
      const second = await statsOf(provider).host(world.options);
      const described = await provider.describeHost(world.options);
      if (second.memory?.limitBytes !== undefined)
        expect(second.memory.limitBytes).toBe(described.capacity.memoryBytes);
      if (second.memory?.workingSetBytes !== undefined)
        expect(second.memory.workingSetBytes).toBeLessThan(second.memory.limitBytes ?? 0);
      if (second.cpu !== undefined) expect(second.cpu.usageNanos).toBeGreaterThan(first.cpu?.usageNanos ?? 0);
      for (const fs of Object.values(second.fileSystems ?? {}))
        expect((fs?.usedBytes ?? 0) + (fs?.availableBytes ?? 0)).toBeLessThanOrEqual(fs?.capacityBytes ?? 0);
      if (second.pids?.current !== undefined) expect(second.pids.current).toBeLessThan(second.pids.max ?? 0);
    },
  },
];
