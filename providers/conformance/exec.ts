import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import type { Provider } from '../contract/index.ts';
import type { Case } from './case.ts';
import { runPod } from './pods.ts';
import { bytesOf, during, needsExec, openExec, outcomeOf, watchText } from './sessions.ts';
import { refOf, type World } from './world.ts';

async function run(provider: Provider, world: World, ...command: string[]) {
  return outcomeOf(world, await openExec(provider, world, command));
}

function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

export const execCases: readonly Case<Provider>[] = [
  {
    name: 'keeps standard output and standard error apart',
    unless: needsExec,
    run: async (provider, world) => {
      expect(await run(provider, world, 'sh', '-c', 'echo out; echo err >&2; echo more')).toEqual({
        stdout: 'out\nmore\n',
        stderr: 'err\n',
        exit: { type: 'exited', code: 0 },
      });
    },
  },
  {
    name: 'tells the exit code of the command',
    unless: needsExec,
    run: async (provider, world) => {
      for (const [script, code] of [
        ['true', 0],
        ['exit 3', 3],
        ['exit 255', 255],
        ['kill -9 $$', 137],
      ] as const) {
        const { exit } = await run(provider, world, 'sh', '-c', script);
        expect(exit, script).toEqual({ type: 'exited', code });
      }
    },
  },
  {
    name: 'gives every argument as it is, to no shell',
    unless: needsExec,
    run: async (provider, world) => {
      const words = ['a b', '', '$HOME', "it's", '*', 'żółw 🐢', 'two\nlines', '&=/"\\'];
      expect((await run(provider, world, 'echo', ...words)).stdout).toBe(`${words.join(' ')}\n`);
    },
  },
  {
    name: 'gives the command what is written to its input, and its end',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['sh', '-c', 'cat; echo end'], { stdin: true });
      session.stdin?.end('hello\n');
      expect(await outcomeOf(world, session)).toMatchObject({ stdout: 'hello\nend\n', exit: { code: 0 } });
    },
  },
  {
    name: 'answers while its input is still open',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['cat'], { stdin: true });
      const text = watchText(session.stdout);
      session.stderr?.resume();
      for (const word of ['one\n', 'two\n']) {
        session.stdin?.write(word);
        await world.eventually(
          'the echo',
          async () => text(),
          (seen) => seen.endsWith(word),
        );
      }
      session.stdin?.end();
      expect(await during(world, 'the exit', session.exit)).toEqual({ type: 'exited', code: 0 });
      expect(text()).toBe('one\ntwo\n');
    },
  },
  {
    name: 'has no input that was not asked for',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['cat']);
      expect(session.stdin).toBeUndefined();
      expect(await outcomeOf(world, session)).toMatchObject({ stdout: '', exit: { type: 'exited', code: 0 } });
    },
  },
  {
    name: 'ends the input when the writer goes away',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['sh', '-c', 'cat; echo end'], { stdin: true });
      session.stdin?.destroy();
      expect(await outcomeOf(world, session)).toMatchObject({ stdout: 'end\n', exit: { code: 0 } });
    },
  },
  {
    name: 'carries bytes both ways unchanged, however slowly they are read',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['cat'], { stdin: true });
      const sent = randomBytes(1 << 20);
      session.stderr?.resume();
      session.stdin?.end(sent);
      // Nobody reads: the command waits, and nothing is lost.
      await world.harness.pass(300);
      const reading = (async () => {
        const chunks: Buffer[] = [];
        let size = 0;
        for await (const chunk of session.stdout) {
          chunks.push(Buffer.from(chunk));
          size += chunk.length;
          if (size < 200_000) await new Promise<void>((resolve) => setImmediate(resolve));
        }
        return Buffer.concat(chunks);
      })();
      const got = await during(world, 'the echo', reading);
      expect([got.length, sha256(got)]).toEqual([sent.length, sha256(sent)]);
      expect(await during(world, 'the exit', session.exit)).toEqual({ type: 'exited', code: 0 });
    },
  },
  {
    name: 'says that a command ended only when its output has been read',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['echo', 'unread']);
      let exited = false;
      void session.exit.then(() => {
        exited = true;
      });
      await world.harness.pass(1000);
      expect(exited).toBe(false);
      expect(await outcomeOf(world, session)).toMatchObject({ stdout: 'unread\n', exit: { code: 0 } });
    },
  },
  {
    name: 'is not held back by a reader that has gone',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['cat'], { stdin: true });
      session.stdout.destroy();
      session.stderr?.resume();
      session.stdin?.end(randomBytes(1 << 20));
      expect(await during(world, 'the exit', session.exit)).toEqual({ type: 'exited', code: 0 });
    },
  },
  {
    name: 'ends when the command does not want its input',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['head', '-c', '10'], { stdin: true });
      const { stdin } = session;
      const line = Buffer.alloc(4096, 'y\n');
      const feed = (): void => {
        while (stdin?.writable === true && stdin.write(line));
      };
      stdin?.on('drain', feed);
      feed();
      expect(await outcomeOf(world, session)).toMatchObject({
        stdout: 'y\ny\ny\ny\ny\n',
        exit: { type: 'exited', code: 0 },
      });
    },
  },
  {
    name: 'merges both outputs on a terminal',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['sh', '-c', 'echo out; echo err >&2'], { tty: true });
      expect(session.stderr).toBeUndefined();
      expect(await outcomeOf(world, session)).toMatchObject({ stdout: 'out\r\nerr\r\n', exit: { code: 0 } });
    },
  },
  {
    name: 'gives a terminal the size asked for last',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['sh', '-c', 'sleep 1; stty size'], { tty: true, stdin: true });
      session.resize({ columns: 0, rows: 0 });
      session.resize({ columns: 80, rows: 24 });
      session.resize({ columns: 121, rows: 40 });
      session.resize({ columns: 120, rows: 41 });
      expect((await outcomeOf(world, session)).stdout).toContain('41 120\r\n');
    },
  },
  {
    name: 'passes on what a terminal takes for an interruption',
    unless: needsExec,
    run: async (provider, world) => {
      const session = await openExec(provider, world, ['sleep', '3600'], { tty: true, stdin: true });
      session.stdout.resume();
      await world.harness.pass(500);
      session.stdin?.write('\u0003');
      expect(await during(world, 'the exit', session.exit)).toEqual({ type: 'exited', code: 130 });
    },
  },
  {
    name: 'says of a command that cannot be started that it failed, and nothing in its name',
    unless: needsExec,
    run: async (provider, world) => {
      for (const tty of [false, true]) {
        const { exit, stdout } = await outcomeOf(
          world,
          await openExec(provider, world, ['/no/such/program'], { tty, stdin: true }),
        );
        expect(stdout).toBe('');
        expect(exit).toMatchObject({ type: 'failed', error: { code: 'Internal', reason: 'StartError' } });
        expect(exit.type === 'failed' && exit.error.message).toContain('/no/such/program');
      }
    },
  },
  {
    name: 'knows no command in a container that it does not have, or that does not run',
    unless: needsExec,
    run: async (provider, world) => {
      const spec = world.container();
      const sandbox = await runPod(provider, world, spec);
      const request = { command: ['true'], tty: false, stdin: false };
      const exec = (container: string, attempt: number) =>
        provider.exec?.exec({ podUid: sandbox.pod.uid, container, attempt }, request, world.options);
      await expect(exec('nobody', 0)).rejects.toMatchObject({ code: 'NotFound' });
      await expect(exec(spec.name, 7)).rejects.toMatchObject({ code: 'NotFound' });
      await stop(provider, world, sandbox);
      await world.until(provider, refOf(sandbox, spec), 'exited');
      await expect(exec(spec.name, 0)).rejects.toMatchObject({ code: 'NotFound' });
    },
  },
  {
    name: 'ends with its container, as killed',
    unless: needsExec,
    run: async (provider, world) => {
      const spec = world.container();
      const sandbox = await runPod(provider, world, spec);
      const command = ['sh', '-c', 'echo begun; sleep 3600'];
      const session = await provider.exec?.exec(
        refOf(sandbox, spec),
        { command, tty: false, stdin: true },
        world.options,
      );
      if (session === undefined) throw new Error('no exec facet');
      const text = watchText(session.stdout);
      session.stderr?.resume();
      await world.eventually(
        'the beginning',
        async () => text(),
        (seen) => seen === 'begun\n',
      );
      await stop(provider, world, sandbox);
      expect(await during(world, 'the exit', session.exit)).toEqual({ type: 'exited', code: 137 });
    },
  },
  {
    name: 'ends with the signal of its call, at once and as failed',
    unless: needsExec,
    run: async (provider, world) => {
      const abort = new AbortController();
      const session = await openExec(
        provider,
        world,
        ['sh', '-c', 'echo begun; sleep 3600'],
        { stdin: true },
        abort.signal,
      );
      const text = watchText(session.stdout);
      await world.eventually(
        'the beginning',
        async () => text(),
        (seen) => seen === 'begun\n',
      );
      const before = performance.now();
      abort.abort();
      expect(await session.exit).toMatchObject({ type: 'failed', error: { name: 'AbortError' } });
      expect(performance.now() - before).toBeLessThan(1000);
      expect(session.stdout.destroyed).toBe(true);
      expect(session.stderr?.destroyed).toBe(true);
      expect(session.stdin?.destroyed).toBe(true);
      session.stdin?.write('too late');
      session.resize({ columns: 80, rows: 24 });
    },
  },
  {
    name: 'runs twenty commands side by side',
    unless: needsExec,
    run: async (provider, world) => {
      const spec = world.container();
      const sandbox = await runPod(provider, world, spec);
      const outcomes = Array.from({ length: 20 }, async (_, index) => {
        const command = ['sh', '-c', `cat; echo ${index}; exit ${index}`];
        const session = await provider.exec?.exec(
          refOf(sandbox, spec),
          { command, tty: false, stdin: true },
          world.options,
        );
        if (session === undefined) throw new Error('no exec facet');
        session.stdin?.end(`in ${index}\n`);
        session.stderr?.resume();
        const [stdout, exit] = await Promise.all([bytesOf(session.stdout), session.exit]);
        return { stdout: stdout.toString(), exit };
      });
      expect(await during(world, 'all of them', Promise.all(outcomes))).toEqual(
        outcomes.map((_, index) => ({ stdout: `in ${index}\n${index}\n`, exit: { type: 'exited', code: index } })),
      );
    },
  },
];

async function stop(provider: Provider, world: World, sandbox: Parameters<typeof refOf>[0]): Promise<void> {
  const now = { graceSeconds: 0 };
  if (provider.kind === 'pod') await provider.stopPod(sandbox.pod.uid, now, world.options);
  else await provider.stopContainer(refOf(sandbox, world.container()), now, world.options);
}
