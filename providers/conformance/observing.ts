import { expect } from 'vitest';
import type { Provider } from '../contract/index.ts';
import type { Case } from './case.ts';
import { OTHER_NODE, RESTARTED_NODE } from './harness.ts';
import { runPod } from './pods.ts';
import { refOf } from './world.ts';

export const observing: readonly Case<Provider>[] = [
  {
    name: 'describes its host with a capacity to schedule on',
    run: async (provider, world) => {
      const host = await provider.describeHost(world.options);
      expect(host.os).toBe('linux');
      expect(host.arch).toMatch(/^[a-z0-9_]+$/);
      expect(host.runtimeName).toMatch(/^[a-z][a-z0-9-]*$/);
      expect(host.runtimeVersion).not.toBe('');
      expect(host.capacity.cpuMilli).toBeGreaterThan(0);
      expect(host.capacity.memoryBytes).toBeGreaterThan(0);
      expect(host.capacity.pods).toBeGreaterThan(0);
    },
  },
  {
    name: 'knows nothing of a pod that it never had',
    run: async (provider, world) => {
      const { pod } = world.sandbox(provider);
      expect(await provider.inspect(pod.uid, world.options)).toBeUndefined();
    },
  },
  {
    name: 'shows a running pod with its identity, address and labels as they were given',
    run: async (provider, world) => {
      const sandbox = await runPod(provider, world);
      const seen = await world.pod(provider, sandbox.pod.uid);
      expect(seen.pod).toEqual(sandbox.pod);
      expect(seen.attempt).toBe(0);
      expect(seen.state).toBe('ready');
      expect(seen.unitId).not.toBe('');
      expect(seen.ips.length).toBeGreaterThan(0);
      expect(seen.labels).toMatchObject(sandbox.labels);
      expect(seen.containers).toHaveLength(1);
      expect(seen.containers[0]?.labels).toMatchObject(world.container().labels);
      expect(seen.containers[0]?.image).toBe(world.harness.shellImage);
      expect(seen.containers[0]?.id).not.toBe('');
    },
  },
  {
    name: 'lists what it shows one by one',
    run: async (provider, world) => {
      const first = await runPod(provider, world);
      const second = await runPod(provider, world);
      const list = await provider.list(world.options);
      for (const { pod } of [first, second])
        expect(list.find((seen) => seen.pod.uid === pod.uid)).toEqual(await world.pod(provider, pod.uid));
    },
  },
  {
    name: 'shows the pods of its own node only',
    run: async (provider, world) => {
      const other = await world.open(OTHER_NODE);
      const mine = await runPod(provider, world);
      const theirs = await runPod(other, world, world.container(), OTHER_NODE);
      const uids = async (of: Provider): Promise<string[]> =>
        (await of.list(world.options)).map((seen) => seen.pod.uid);
      expect(await uids(provider)).toContain(mine.pod.uid);
      expect(await uids(provider)).not.toContain(theirs.pod.uid);
      expect(await uids(other)).toContain(theirs.pod.uid);
      expect(await uids(other)).not.toContain(mine.pod.uid);
      expect(await provider.inspect(theirs.pod.uid, world.options)).toBeUndefined();
    },
  },
  {
    name: 'leaves pods running when it is closed, and sees them again after a restart',
    run: async (_, world) => {
      const provider = await world.open(RESTARTED_NODE);
      const sandbox = await runPod(provider, world, world.container(), RESTARTED_NODE);
      const before = await world.pod(provider, sandbox.pod.uid);
      const again = await world.restart(provider, RESTARTED_NODE);
      const after = await world.pod(again, sandbox.pod.uid);
      expect(after).toEqual(before);
      expect(after.containers[0]?.state.status).toBe('running');
    },
  },
  {
    name: 'ends a call with an abort error when its signal has fired',
    run: async (provider, world) => {
      const abort = new AbortController();
      abort.abort();
      const { pod } = world.sandbox(provider);
      for (const call of [
        provider.list({ signal: abort.signal }),
        provider.inspect(pod.uid, { signal: abort.signal }),
        provider.describeHost({ signal: abort.signal }),
      ])
        await expect(call).rejects.toSatisfy(
          (error: unknown) => error === abort.signal.reason || (error instanceof Error && error.name === 'AbortError'),
        );
    },
  },
  {
    name: 'hints at a start, an exit and a removal',
    unless: (provider) => (provider.watch === undefined ? 'no watch' : undefined),
    run: async (provider, world) => {
      const abort = new AbortController();
      const hinted = new Set<string>();
      const watching = (async () => {
        for await (const hint of provider.watch?.({ signal: abort.signal }) ?? [])
          hinted.add(hint.type === 'pod' ? hint.uid : 'resync');
      })().catch(() => undefined);
      // A stream needs a moment to open; changes before that are the relist's to find.
      await world.harness.pass(500);
      const hint = (what: string, uid: string): Promise<unknown> =>
        world.eventually(
          `a hint at the ${what}`,
          async () => hinted,
          (seen) => seen.has(uid),
        );

      const sandbox = await runPod(provider, world);
      const { uid } = sandbox.pod;
      await hint('start', uid);
      hinted.clear();
      if (provider.kind === 'container')
        await provider.stopContainer(refOf(sandbox, world.container()), { graceSeconds: 0 }, world.options);
      else await provider.stopPod(uid, { graceSeconds: 0 }, world.options);
      await world.until(provider, refOf(sandbox, world.container()), 'exited');
      await hint('exit', uid);
      await world.harness.pass(500);
      hinted.clear();
      if (provider.kind === 'container') await provider.removeSandbox(uid, world.options);
      else await provider.removePod(uid, world.options);
      await hint('removal', uid);
      abort.abort();
      await watching;
    },
  },
];
