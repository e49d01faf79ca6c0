import { expect } from 'vitest';
import type { ContainerSpec, ExecSession, Provider, SandboxSpec } from '../contract/index.ts';
import type { Case } from './case.ts';
import { runPod } from './pods.ts';
import { during, needsAttach, outcomeOf } from './sessions.ts';
import { refOf, type World } from './world.ts';

type Terminal = ContainerSpec['terminal'];

/** Reads its input and gives it back. */
function echo(world: World, terminal: Partial<Terminal>): ContainerSpec {
  return world.container({
    command: ['cat'],
    terminal: { tty: false, stdin: true, stdinOnce: false, ...terminal },
  });
}

async function attach(
  provider: Provider,
  world: World,
  sandbox: SandboxSpec,
  spec: ContainerSpec,
  signal = world.options.signal,
): Promise<ExecSession> {
  const request = { stdin: true, tty: spec.terminal.tty };
  const session = await provider.attach?.attach(refOf(sandbox, spec), request, { signal });
  if (session === undefined) throw new Error('no attach facet');
  return session;
}

export const attachCases: readonly Case<Provider>[] = [
  {
    name: 'shows what the container writes from now on, and how it ends',
    unless: needsAttach,
    run: async (provider, world) => {
      const spec = world.shell('echo before; sleep 2; echo out; echo err >&2; sleep 1; exit 3');
      const sandbox = await runPod(provider, world, spec);
      await world.harness.pass(500);
      const session = await attach(provider, world, sandbox, spec);
      expect(await outcomeOf(world, session)).toEqual({
        stdout: 'out\n',
        stderr: 'err\n',
        exit: { type: 'exited', code: 3 },
      });
    },
  },
  {
    name: 'has no input for a container that takes none',
    unless: needsAttach,
    run: async (provider, world) => {
      const spec = world.shell('sleep 1');
      const sandbox = await runPod(provider, world, spec);
      const session = await attach(provider, world, sandbox, spec);
      expect(session.stdin).toBeUndefined();
      expect(await outcomeOf(world, session)).toMatchObject({ exit: { type: 'exited', code: 0 } });
    },
  },
  {
    name: 'gives the container its input; the end of it is a farewell',
    unless: needsAttach,
    run: async (provider, world) => {
      const spec = echo(world, {});
      const sandbox = await runPod(provider, world, spec);
      for (const word of ['first\n', 'second\n']) {
        const session = await attach(provider, world, sandbox, spec);
        session.stdin?.end(word);
        expect(await outcomeOf(world, session)).toMatchObject({ stdout: word, exit: { type: 'exited' } });
      }
      await world.until(provider, refOf(sandbox, spec), 'running');
    },
  },
  {
    name: 'ends the input of a container that takes it once',
    unless: needsAttach,
    run: async (provider, world) => {
      const spec = echo(world, { stdinOnce: true });
      const sandbox = await runPod(provider, world, spec);
      const session = await attach(provider, world, sandbox, spec);
      session.stdin?.end('only\n');
      expect(await outcomeOf(world, session)).toMatchObject({
        stdout: 'only\n',
        exit: { type: 'exited', code: 0 },
      });
      const { state } = await world.until(provider, refOf(sandbox, spec), 'exited');
      expect(state.exitCode).toBe(0);
    },
  },
  {
    name: 'leaves the container alone when its call is aborted',
    unless: needsAttach,
    run: async (provider, world) => {
      const spec = echo(world, {});
      const sandbox = await runPod(provider, world, spec);
      const abort = new AbortController();
      const left = await attach(provider, world, sandbox, spec, abort.signal);
      abort.abort();
      expect(await left.exit).toMatchObject({ type: 'failed', error: { name: 'AbortError' } });
      expect(left.stdout.destroyed).toBe(true);
      const session = await attach(provider, world, sandbox, spec);
      session.stdin?.end('still there\n');
      expect((await outcomeOf(world, session)).stdout).toBe('still there\n');
      await world.until(provider, refOf(sandbox, spec), 'running');
    },
  },
  {
    name: 'shows several onlookers the same',
    unless: needsAttach,
    run: async (provider, world) => {
      const spec = world.shell('sleep 2; echo news; sleep 1');
      const sandbox = await runPod(provider, world, spec);
      const sessions = [
        await attach(provider, world, sandbox, spec),
        await attach(provider, world, sandbox, spec),
      ] as const;
      const outcomes = await during(
        world,
        'both to end',
        Promise.all(sessions.map((session) => outcomeOf(world, session))),
      );
      expect(outcomes.map(({ stdout }) => stdout)).toEqual(['news\n', 'news\n']);
    },
  },
  {
    name: 'merges both outputs of a container with a terminal, whatever was asked for',
    unless: needsAttach,
    run: async (provider, world) => {
      const terminal = { tty: true, stdin: true, stdinOnce: false };
      const spec = world.shell('sleep 2; echo out; echo err >&2; sleep 1', { terminal });
      const sandbox = await runPod(provider, world, spec);
      const session = await provider.attach?.attach(refOf(sandbox, spec), { stdin: false, tty: false }, world.options);
      if (session === undefined) throw new Error('no attach facet');
      expect(session.stderr).toBeUndefined();
      session.resize({ columns: 100, rows: 30 });
      expect((await outcomeOf(world, session)).stdout).toBe('out\r\nerr\r\n');
    },
  },
  {
    name: 'finds no container that is not there or does not run',
    unless: needsAttach,
    run: async (provider, world) => {
      const spec = world.shell('sleep 1');
      const sandbox = await runPod(provider, world, spec);
      const to = (container: string) =>
        provider.attach?.attach(
          { podUid: sandbox.pod.uid, container, attempt: 0 },
          { stdin: false, tty: false },
          world.options,
        );
      await expect(to('nobody')).rejects.toMatchObject({ code: 'NotFound' });
      await world.until(provider, refOf(sandbox, spec), 'exited');
      await expect(to(spec.name)).rejects.toMatchObject({ code: 'NotFound' });
    },
  },
];
