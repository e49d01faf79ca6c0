import { expect } from 'vitest';
import type { ContainerProvider } from '../contract/index.ts';
import { isProviderError } from '../contract/index.ts';
import type { Case } from './case.ts';
import { BROKEN } from './harness.ts';
import { refOf } from './world.ts';

export const containerDriving: readonly Case<ContainerProvider>[] = [
  {
    name: 'makes a sandbox that is ready, has an address and no container',
    run: async (provider, world) => {
      const { pod } = await world.ready(provider);
      const seen = await world.pod(provider, pod.uid);
      expect(seen.state).toBe('ready');
      expect(seen.containers).toEqual([]);
      if (provider.traits.network.podIpKnownBeforeStart) expect(seen.ips.length).toBeGreaterThan(0);
    },
  },
  {
    name: 'gives every pod an address of its own',
    run: async (provider, world) => {
      const first = await world.ready(provider);
      const second = await world.ready(provider);
      const ips = [first, second].map(async ({ pod }) => (await world.pod(provider, pod.uid)).ips[0]);
      expect(new Set(await Promise.all(ips)).size).toBe(2);
    },
  },
  {
    name: 'leaves one sandbox when it is asked twice, in turn or at once',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const before = await world.pod(provider, sandbox.pod.uid);
      await provider.ensureSandbox(sandbox, world.options);
      await Promise.all([
        provider.ensureSandbox(sandbox, world.options),
        provider.ensureSandbox(sandbox, world.options),
      ]);
      const list = await provider.list(world.options);
      const mine = list.filter((seen) => seen.pod.uid === sandbox.pod.uid);
      expect(mine).toHaveLength(1);
      expect(mine[0]?.unitId).toBe(before.unitId);
    },
  },
  {
    name: 'makes a new sandbox for the next attempt and keeps ended containers',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('exit 4');
      await world.runToEnd(provider, sandbox, spec);
      await provider.stopSandbox(sandbox.pod.uid, world.options);
      const next = { ...sandbox, attempt: 1 };
      await provider.ensureSandbox(next, world.options);
      const seen = await world.pod(provider, sandbox.pod.uid);
      expect(seen).toMatchObject({ attempt: 1, state: 'ready' });
      expect(seen.ips.length).toBeGreaterThan(0);
      expect(seen.containers.map(({ state }) => state)).toMatchObject([{ status: 'exited', exitCode: 4 }]);
      const again = world.container({ attempt: 1 });
      await provider.startContainer(next, again, world.options);
      await world.until(provider, refOf(next, again), 'running');
    },
  },
  {
    name: 'runs a container and says since when',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.container();
      await provider.startContainer(sandbox, spec, world.options);
      const seen = await world.until(provider, refOf(sandbox, spec), 'running');
      expect(seen.state.startedAt.getTime()).toBeGreaterThanOrEqual(seen.createdAt.getTime());
      expect(seen.imageId).toMatch(/sha256:[0-9a-f]{64}$/);
    },
  },
  {
    name: 'leaves one container when the same start is asked twice, in turn or at once',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.container();
      const start = (): Promise<void> => provider.startContainer(sandbox, spec, world.options);
      await Promise.all([start(), start()]);
      const before = await world.until(provider, refOf(sandbox, spec), 'running');
      await start();
      const { containers } = await world.pod(provider, sandbox.pod.uid);
      expect(containers).toHaveLength(1);
      expect(containers[0]).toEqual(before);
    },
  },
  {
    name: 'does not run an incarnation again that has ended',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('exit 5');
      await world.runToEnd(provider, sandbox, spec);
      const before = await world.pod(provider, sandbox.pod.uid);
      await provider.startContainer(sandbox, spec, world.options);
      expect(await world.pod(provider, sandbox.pod.uid)).toEqual(before);
    },
  },
  {
    name: 'keeps the incarnations of one container apart by attempt',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      await world.runToEnd(provider, sandbox, world.shell('exit 1'));
      await world.runToEnd(provider, sandbox, world.shell('exit 2', { attempt: 1 }));
      await provider.startContainer(sandbox, world.container({ attempt: 2 }), world.options);
      await world.until(provider, refOf(sandbox, { name: 'main', attempt: 2 }), 'running');
      const { containers } = await world.pod(provider, sandbox.pod.uid);
      const byAttempt = containers
        .toSorted((a, b) => a.attempt - b.attempt)
        .map(({ attempt, state }) => [attempt, state.status, state.status === 'exited' ? state.exitCode : undefined]);
      expect(byAttempt).toEqual([
        [0, 'exited', 1],
        [1, 'exited', 2],
        [2, 'running', undefined],
      ]);
    },
  },
  {
    name: 'reports exit codes with start and end',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      for (const code of [0, 1, 3, 255]) {
        const { state } = await world.runToEnd(
          provider,
          sandbox,
          world.shell(`exit ${code}`, { name: `exit-${code}` }),
        );
        expect(state).toMatchObject({ exitCode: code, oomKilled: false });
        expect(state.reason).toBeUndefined();
        expect(state.startedAt).toBeInstanceOf(Date);
        expect(state.finishedAt.getTime()).toBeGreaterThanOrEqual(
          state.startedAt?.getTime() ?? Number.POSITIVE_INFINITY,
        );
      }
    },
  },
  {
    name: 'says of a program that cannot be started so: the call fails, and an exited container with StartError and 128 stays',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.container({ ...BROKEN });
      const error: unknown = await provider
        .startContainer(sandbox, spec, world.options)
        .catch((thrown: unknown) => thrown);
      expect(isProviderError(error)).toBe(true);
      expect(isProviderError(error) && error.reason).toMatch(/^[A-Z][A-Za-z]+$/);
      const { state } = await world.until(provider, refOf(sandbox, spec), 'exited');
      expect(state).toMatchObject({ exitCode: 128, reason: 'StartError', oomKilled: false });
      expect(state.message).toContain(BROKEN.command[0]);
    },
  },
  {
    name: 'starts nothing in a pod that it does not have',
    run: async (provider, world) => {
      await world.haveImage(provider);
      const sandbox = world.sandbox(provider);
      await expect(provider.startContainer(sandbox, world.container(), world.options)).rejects.toMatchObject({
        name: 'ProviderError',
      });
      expect(await provider.inspect(sandbox.pod.uid, world.options)).toBeUndefined();
    },
  },
  {
    name: 'refuses an image that is not there with ImageNotFound',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.container({ image: world.harness.missingImage });
      await expect(provider.startContainer(sandbox, spec, world.options)).rejects.toMatchObject({
        code: 'ImageNotFound',
      });
      expect((await world.pod(provider, sandbox.pod.uid)).containers).toEqual([]);
    },
  },
  {
    name: 'drives many pods at once',
    run: async (provider, world) => {
      await world.haveImage(provider);
      const spec = world.container();
      const pods = Array.from({ length: 5 }, () => world.sandbox(provider));
      await Promise.all(
        pods.map(async (sandbox) => {
          await provider.ensureSandbox(sandbox, world.options);
          await provider.startContainer(sandbox, spec, world.options);
        }),
      );
      for (const sandbox of pods) await world.until(provider, refOf(sandbox, spec), 'running');
    },
  },
];
