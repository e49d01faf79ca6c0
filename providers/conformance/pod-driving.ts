import { expect } from 'vitest';
import type { PodProvider } from '../contract/index.ts';
import { type Case, needsLogs } from './case.ts';
import { refOf, settleRemoval } from './world.ts';

export const podDriving: readonly Case<PodProvider>[] = [
  {
    name: 'launches a whole pod',
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const specs = [world.container({ name: 'one' }), world.container({ name: 'two' })];
      await provider.launchPod(world.plan(sandbox, specs), world.options);
      for (const spec of specs) await world.until(provider, refOf(sandbox, spec), 'running');
      expect(await world.pod(provider, sandbox.pod.uid)).toMatchObject({ state: 'ready', attempt: 0 });
    },
  },
  {
    name: 'leaves one unit when the same launch is asked twice, in turn or at once',
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const plan = world.plan(sandbox, [world.container()]);
      await Promise.all([provider.launchPod(plan, world.options), provider.launchPod(plan, world.options)]);
      await world.until(provider, refOf(sandbox, world.container()), 'running');
      const before = await world.pod(provider, sandbox.pod.uid);
      await provider.launchPod(plan, world.options);
      const mine = (await provider.list(world.options)).filter(({ pod }) => pod.uid === sandbox.pod.uid);
      expect(mine).toEqual([before]);
    },
  },
  {
    name: 'runs init containers one after the other, before the main ones',
    unless: (provider, harness) =>
      provider.traits.initContainers ? needsLogs(provider, harness) : 'no init containers',
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const first = world.shell('sleep 1', { name: 'first', role: 'init' });
      const second = world.shell('sleep 1', { name: 'second', role: 'init' });
      const main = world.container();
      await provider.launchPod(world.plan(sandbox, [first, second, main]), world.options);
      const { state } = await world.until(provider, refOf(sandbox, main), 'running');
      const one = await world.until(provider, refOf(sandbox, first), 'exited');
      const two = await world.until(provider, refOf(sandbox, second), 'exited');
      expect(two.state.startedAt?.getTime()).toBeGreaterThanOrEqual(one.state.finishedAt.getTime());
      expect(state.startedAt.getTime()).toBeGreaterThanOrEqual(two.state.finishedAt.getTime());
    },
  },
  {
    name: 'is stopped when every main container has ended, exit codes and logs kept',
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const specs = [
        world.shell('echo bye; exit 0', { name: 'good' }),
        world.shell('echo bye; exit 3', { name: 'bad' }),
      ];
      await provider.launchPod(world.plan(sandbox, specs), world.options);
      const seen = await world.eventually(
        'unit stopped',
        () => world.pod(provider, sandbox.pod.uid),
        ({ state }) => state === 'stopped',
      );
      const codes = seen.containers.map(({ name, state }) => [name, state.status === 'exited' && state.exitCode]);
      expect(codes).toEqual([
        ['good', 0],
        ['bad', 3],
      ]);
      for (const spec of specs)
        if (provider.logs !== undefined) expect(await world.output(provider, refOf(sandbox, spec))).toEqual(['bye']);
    },
  },
  {
    name: 'restarts a single container itself, with the next attempt',
    unless: (provider) => (provider.containerRestart === 'backend' ? undefined : 'one exit ends the unit'),
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const crashing = world.shell('sleep 1; exit 1', { name: 'crashing' });
      const plan = world.plan(sandbox, [crashing, world.container()], { restartPolicy: 'Always' });
      await provider.launchPod(plan, world.options);
      await world.until(provider, refOf(sandbox, { name: 'crashing', attempt: 1 }), 'running');
      expect((await world.until(provider, refOf(sandbox, crashing), 'exited')).state.exitCode).toBe(1);
      await world.until(provider, refOf(sandbox, world.container()), 'running');
    },
  },
  {
    name: 'ends the unit when a container ended that must run again, and launches the next attempt when asked',
    unless: (provider) => (provider.containerRestart === 'none' ? undefined : 'the backend restarts containers'),
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const specs = [world.shell('sleep 1; exit 1', { name: 'crashing' }), world.container()];
      await provider.launchPod(world.plan(sandbox, specs, { restartPolicy: 'Always', graceSeconds: 1 }), world.options);
      await world.eventually(
        'unit stopped',
        () => world.pod(provider, sandbox.pod.uid),
        ({ state }) => state === 'stopped',
      );
      const next = { ...sandbox, attempt: 1 };
      const again = specs.map((spec) => ({ ...spec, attempt: 1 }));
      await provider.launchPod(world.plan(next, again, { restartPolicy: 'Always' }), world.options);
      await world.until(provider, refOf(next, { name: 'main', attempt: 1 }), 'running');
      expect((await world.pod(provider, sandbox.pod.uid)).attempt).toBe(1);
    },
  },
  {
    name: 'says of an image that cannot be pulled so, in the unit or the call',
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const spec = world.container({ image: world.harness.missingImage });
      try {
        await provider.launchPod(world.plan(sandbox, [spec]), world.options);
      } catch (error: unknown) {
        expect(error).toMatchObject({ code: 'ImageNotFound' });
        return;
      }
      const seen = await world.eventually(
        'unit stopped',
        () => world.pod(provider, sandbox.pod.uid),
        ({ state }) => state === 'stopped',
      );
      expect(seen.reason).toMatch(/^[A-Z][A-Za-z]+$/);
      expect(seen.message).toContain(world.harness.missingImage);
    },
  },
  {
    name: 'stops within the grace period: signal first, kill at its end',
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const polite = world.shell("trap 'exit 7' TERM; while true; do sleep 0.1; done", { name: 'polite' });
      const deaf = world.shell("trap '' TERM; while true; do sleep 0.1; done", { name: 'deaf' });
      await provider.launchPod(world.plan(sandbox, [polite, deaf], { graceSeconds: 2 }), world.options);
      for (const spec of [polite, deaf]) await world.until(provider, refOf(sandbox, spec), 'running');
      await world.harness.pass(500);
      await provider.stopPod(sandbox.pod.uid, { graceSeconds: 2 }, world.options);
      expect((await world.until(provider, refOf(sandbox, polite), 'exited')).state.exitCode).toBe(7);
      expect((await world.until(provider, refOf(sandbox, deaf), 'exited')).state.exitCode).toBe(137);
      expect((await world.pod(provider, sandbox.pod.uid)).state).toBe('stopped');
    },
  },
  {
    name: 'hurries a stop when asked again with a smaller grace',
    unless: (provider) => (provider.traits.graceAdjustable ? undefined : 'the grace period is fixed at launch'),
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const deaf = world.shell("trap '' TERM; while true; do sleep 0.1; done");
      await provider.launchPod(world.plan(sandbox, [deaf]), world.options);
      await world.until(provider, refOf(sandbox, deaf), 'running');
      await world.harness.pass(500);
      await provider.stopPod(sandbox.pod.uid, { graceSeconds: 600 }, world.options);
      await world.harness.pass(500);
      expect((await world.pod(provider, sandbox.pod.uid)).state).toBe('stopping');
      await provider.stopPod(sandbox.pod.uid, { graceSeconds: 0 }, world.options);
      expect((await world.until(provider, refOf(sandbox, deaf), 'exited')).state.exitCode).toBe(137);
    },
  },
  {
    name: 'forgets a stopped unit; a second removal, and one of nothing, are no failures',
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const { uid } = sandbox.pod;
      await settleRemoval(provider.removePod(uid, world.options));
      await provider.launchPod(world.plan(sandbox, [world.shell('exit 0')]), world.options);
      await world.eventually(
        'unit stopped',
        () => world.pod(provider, uid),
        ({ state }) => state === 'stopped',
      );
      await provider.removePod(uid, world.options);
      await settleRemoval(provider.removePod(uid, world.options));
      expect(await provider.inspect(uid, world.options)).toBeUndefined();
    },
  },
];
