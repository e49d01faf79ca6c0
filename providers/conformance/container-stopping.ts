import { expect } from 'vitest';
import type { ContainerProvider } from '../contract/index.ts';
import { type Case, needsLogs } from './case.ts';
import { refOf, settleRemoval } from './world.ts';

/** Reacts to TERM only between short sleeps: a shell runs its traps when the command in front has ended. */
const WAIT_FOREVER = 'while true; do sleep 0.1; done';

export const containerStopping: readonly Case<ContainerProvider>[] = [
  {
    name: 'sends the stop signal when there is grace, and lets the program choose its exit code',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell(`trap 'exit 7' TERM; echo up; ${WAIT_FOREVER}`);
      await provider.startContainer(sandbox, spec, world.options);
      await world.until(provider, refOf(sandbox, spec), 'running');
      await world.harness.pass(500);
      await provider.stopContainer(refOf(sandbox, spec), { graceSeconds: 30 }, world.options);
      const { state } = await world.until(provider, refOf(sandbox, spec), 'exited');
      expect(state).toMatchObject({ exitCode: 7, oomKilled: false });
    },
  },
  {
    name: 'does not wait for the exit, and does not kill when the signal is ignored; grace 0 kills with 137',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell(`trap '' TERM; ${WAIT_FOREVER}`);
      const ref = refOf(sandbox, spec);
      await provider.startContainer(sandbox, spec, world.options);
      await world.until(provider, ref, 'running');
      await world.harness.pass(500);
      // The core keeps the time: however short the grace, the provider does not kill by itself.
      await provider.stopContainer(ref, { graceSeconds: 1 }, world.options);
      await world.harness.pass(2500);
      await world.until(provider, ref, 'running');
      await provider.stopContainer(ref, { graceSeconds: 0 }, world.options);
      const { state } = await world.until(provider, ref, 'exited');
      expect(state).toMatchObject({ exitCode: 137, oomKilled: false });
    },
  },
  {
    name: 'sends the stop signal that the container asks for',
    unless: (_, harness) => (harness.executesShell ? undefined : 'commands are not really run'),
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell(`trap 'exit 9' USR1; trap 'exit 8' TERM; ${WAIT_FOREVER}`, { stopSignal: 'SIGUSR1' });
      await provider.startContainer(sandbox, spec, world.options);
      await world.until(provider, refOf(sandbox, spec), 'running');
      await world.harness.pass(500);
      await provider.stopContainer(refOf(sandbox, spec), { graceSeconds: 30 }, world.options);
      const { state } = await world.until(provider, refOf(sandbox, spec), 'exited');
      expect(state.exitCode).toBe(9);
    },
  },
  {
    name: 'takes a stop of an ended container for done',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('exit 0');
      await world.runToEnd(provider, sandbox, spec);
      await provider.stopContainer(refOf(sandbox, spec), { graceSeconds: 30 }, world.options);
      await provider.stopContainer(refOf(sandbox, spec), { graceSeconds: 0 }, world.options);
    },
  },
  {
    name: 'stops one container and leaves its neighbours alone',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const [one, two] = [world.container({ name: 'one' }), world.container({ name: 'two' })];
      for (const spec of [one, two]) await provider.startContainer(sandbox, spec, world.options);
      await provider.stopContainer(refOf(sandbox, one), { graceSeconds: 0 }, world.options);
      await world.until(provider, refOf(sandbox, one), 'exited');
      await world.until(provider, refOf(sandbox, two), 'running');
    },
  },
  {
    name: 'forgets a removed container, and only that one; a second removal is no failure',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const first = world.shell('exit 1');
      const second = world.shell('exit 2', { attempt: 1 });
      await world.runToEnd(provider, sandbox, first);
      await world.runToEnd(provider, sandbox, second);
      await settleRemoval(provider.removeContainer(refOf(sandbox, first), world.options));
      await settleRemoval(provider.removeContainer(refOf(sandbox, first), world.options));
      const { containers } = await world.pod(provider, sandbox.pod.uid);
      expect(containers.map(({ attempt }) => attempt)).toEqual([1]);
    },
  },
  {
    name: 'keeps ended containers and their logs when the sandbox is stopped, and gives the address back',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo last words; exit 6');
      await world.runToEnd(provider, sandbox, spec);
      await provider.stopSandbox(sandbox.pod.uid, world.options);
      await settleRemoval(provider.stopSandbox(sandbox.pod.uid, world.options));
      const seen = await world.eventually(
        'sandbox stopped',
        () => world.pod(provider, sandbox.pod.uid),
        ({ state }) => state === 'stopped',
      );
      expect(seen.ips).toEqual([]);
      expect(seen.containers[0]?.state).toMatchObject({ status: 'exited', exitCode: 6 });
      expect(await world.output(provider, refOf(sandbox, spec))).toEqual(['last words']);
    },
  },
  {
    name: 'removes a sandbox with everything in it, running containers too; a second removal is no failure',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider, {
        volumes: [{ kind: 'emptyDir', name: 'data', medium: 'disk' }],
      });
      await world.runToEnd(provider, sandbox, world.shell('exit 0', { name: 'ended' }));
      const mounts = [{ volume: 'data', path: '/data', readOnly: false }];
      await provider.startContainer(sandbox, world.container({ mounts }), world.options);
      await provider.removeSandbox(sandbox.pod.uid, world.options);
      await settleRemoval(provider.removeSandbox(sandbox.pod.uid, world.options));
      expect(await provider.inspect(sandbox.pod.uid, world.options)).toBeUndefined();
      const uids = (await provider.list(world.options)).map(({ pod }) => pod.uid);
      expect(uids).not.toContain(sandbox.pod.uid);
    },
  },
  {
    name: 'takes the removal of what it does not have for done',
    run: async (provider, world) => {
      const sandbox = world.sandbox(provider);
      const { uid } = sandbox.pod;
      await settleRemoval(provider.removeContainer(refOf(sandbox, world.container()), world.options));
      await settleRemoval(provider.stopSandbox(uid, world.options));
      await settleRemoval(provider.removeSandbox(uid, world.options));
      await settleRemoval(
        provider.stopContainer(refOf(sandbox, world.container()), { graceSeconds: 0 }, world.options),
      );
    },
  },
];
