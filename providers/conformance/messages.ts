import { expect } from 'vitest';
import type { ContainerProvider, ContainerRef, ContainerSpec } from '../contract/index.ts';
import { type Case, type Excuse, needsShell } from './case.ts';
import { refOf, type World } from './world.ts';

const PATH = '/dev/termination-log';

const needsFiles: Excuse = (provider) => (provider.files === undefined ? 'no files facet' : undefined);
const needsFilesAndShell: Excuse = (provider, harness) =>
  needsFiles(provider, harness) ?? needsShell(provider, harness);

const saying = (world: World, script: string, overrides: Partial<ContainerSpec> = {}): ContainerSpec =>
  world.shell(script, { terminationMessagePath: PATH, ...overrides });

async function read(
  provider: ContainerProvider,
  world: World,
  ref: ContainerRef,
  path = PATH,
  maxBytes = 4096,
): Promise<string> {
  if (provider.files === undefined) throw new Error('no files facet');
  return new TextDecoder().decode(await provider.files.readFile(ref, path, { ...world.options, maxBytes }));
}

export const messageCases: readonly Case<ContainerProvider>[] = [
  {
    name: 'are empty where nothing was written, and only at their own path',
    unless: needsFiles,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = saying(world, 'exit 3');
      await world.runToEnd(provider, sandbox, spec);
      const ref = refOf(sandbox, spec);
      expect(await read(provider, world, ref)).toBe('');
      await expect(read(provider, world, ref, '/etc/passwd')).rejects.toMatchObject({ code: 'NotFound' });
      await expect(read(provider, world, { ...ref, attempt: 1 })).rejects.toMatchObject({ code: 'NotFound' });
    },
  },
  {
    name: 'are what each incarnation has written to its own file, whoever it runs as',
    unless: needsFilesAndShell,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const first = saying(world, `printf first > ${PATH}`);
      const second = saying(world, `printf second > ${PATH}`, { attempt: 1, security: { runAsUser: 1234 } });
      for (const spec of [first, second]) await world.runToEnd(provider, sandbox, spec);
      // Its answer was lost: the repetition must not touch the file.
      await provider.startContainer(sandbox, first, world.options);
      expect(await read(provider, world, refOf(sandbox, first))).toBe('first');
      expect(await read(provider, world, refOf(sandbox, second))).toBe('second');
    },
  },
  {
    name: 'lie wherever the container wants them, relative to its root',
    unless: needsFilesAndShell,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = saying(world, 'printf there > /tmp/msg', { terminationMessagePath: 'tmp/msg' });
      await world.runToEnd(provider, sandbox, spec);
      expect(await read(provider, world, refOf(sandbox, spec), 'tmp/msg')).toBe('there');
    },
  },
  {
    name: 'are cut at their beginning',
    unless: needsFilesAndShell,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = saying(world, `seq 100000 > ${PATH}`);
      await world.runToEnd(provider, sandbox, spec);
      expect(await read(provider, world, refOf(sandbox, spec), PATH, 13)).toBe('99999\n100000\n');
    },
  },
  {
    name: 'that go on without end are given up',
    unless: needsFilesAndShell,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = saying(world, `dd if=/dev/zero of=${PATH} bs=1M count=64 2>/dev/null`);
      await world.runToEnd(provider, sandbox, spec);
      await expect(read(provider, world, refOf(sandbox, spec))).rejects.toMatchObject({ code: 'Internal' });
    },
  },
  {
    name: 'are there after the sandbox has stopped',
    unless: needsFilesAndShell,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = saying(world, `printf bye > ${PATH}`);
      await world.runToEnd(provider, sandbox, spec);
      await provider.stopSandbox(sandbox.pod.uid, world.options);
      expect(await read(provider, world, refOf(sandbox, spec))).toBe('bye');
    },
  },
];
