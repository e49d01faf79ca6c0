import { expect } from 'vitest';
import type { ContainerProvider } from '../contract/index.ts';
import { type Case, needsLogs, needsShellAndLogs } from './case.ts';
import { refOf, textOf } from './world.ts';

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

export const containerLogs: readonly Case<ContainerProvider>[] = [
  {
    name: 'gives lines in order, with times, without their line ends',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo one; echo two; echo three');
      await world.runToEnd(provider, sandbox, spec);
      const records = await world.records(provider, refOf(sandbox, spec));
      expect(records.map(textOf)).toEqual(['one', 'two', 'three']);
      for (const { time, partial } of records) {
        expect(time).toMatch(RFC3339);
        expect(partial).toBe(false);
      }
    },
  },
  {
    name: 'tells standard error from standard output',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo out; echo err >&2');
      await world.runToEnd(provider, sandbox, spec);
      const records = await world.records(provider, refOf(sandbox, spec));
      const pairs = records.map((record) => `${record.stream} ${textOf(record)}`).toSorted();
      expect(pairs).toEqual(['stderr err', 'stdout out']);
    },
  },
  {
    name: 'gives the last lines only when asked',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo one; echo two; echo three');
      await world.runToEnd(provider, sandbox, spec);
      const ref = refOf(sandbox, spec);
      expect(await world.output(provider, ref, { tailLines: 2 })).toEqual(['two', 'three']);
      expect(await world.output(provider, ref, { tailLines: 0 })).toEqual([]);
      expect(await world.output(provider, ref, { tailLines: 10 })).toEqual(['one', 'two', 'three']);
    },
  },
  {
    name: 'gives the lines since a moment only when asked',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo early; sleep 3; echo late');
      await world.runToEnd(provider, sandbox, spec);
      const ref = refOf(sandbox, spec);
      const early = (await world.records(provider, ref))[0]?.time ?? '';
      const since = new Date(Date.parse(early) + 1500);
      expect(await world.output(provider, ref, { since })).toEqual(['late']);
    },
  },
  {
    name: 'follows a running container to its end, each line once',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo one; sleep 1; echo two; sleep 1; echo three');
      const ref = refOf(sandbox, spec);
      await provider.startContainer(sandbox, spec, world.options);
      let done = false;
      const following = world.output(provider, ref, { follow: true }).finally(() => {
        done = true;
      });
      await world.eventually('the stream to end', async () => done, Boolean);
      expect(await following).toEqual(['one', 'two', 'three']);
    },
  },
  {
    name: 'follows with the last lines first',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo one; echo two; sleep 2; echo three');
      const ref = refOf(sandbox, spec);
      await provider.startContainer(sandbox, spec, world.options);
      await world.eventually(
        'two lines',
        () => world.output(provider, ref),
        (lines) => lines.length === 2,
      );
      let done = false;
      const following = world.output(provider, ref, { follow: true, tailLines: 1 }).finally(() => {
        done = true;
      });
      await world.eventually('the stream to end', async () => done, Boolean);
      expect(await following).toEqual(['two', 'three']);
    },
  },
  {
    name: 'lets go of a followed log when the signal fires',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo one; sleep 3600');
      await provider.startContainer(sandbox, spec, world.options);
      const abort = new AbortController();
      const lines: string[] = [];
      let done = false;
      const following = (async () => {
        const request = { follow: true };
        for await (const record of provider.logs?.logs(refOf(sandbox, spec), request, { signal: abort.signal }) ?? [])
          lines.push(textOf(record));
      })()
        .catch((error: unknown) => {
          if (!(error instanceof Error && error.name === 'AbortError')) throw error;
        })
        .finally(() => {
          done = true;
        });
      await world.eventually(
        'the first line',
        async () => lines.length,
        (length) => length === 1,
      );
      abort.abort();
      await world.eventually('the stream to end', async () => done, Boolean);
      await following;
    },
  },
  {
    name: 'keeps the logs of each incarnation apart',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const first = world.shell('echo first; exit 1');
      const second = world.shell('echo second; exit 1', { attempt: 1 });
      await world.runToEnd(provider, sandbox, first);
      await world.runToEnd(provider, sandbox, second);
      expect(await world.output(provider, refOf(sandbox, first))).toEqual(['first']);
      expect(await world.output(provider, refOf(sandbox, second))).toEqual(['second']);
    },
  },
  {
    name: 'says NotFound of the log of a container that it does not have',
    unless: needsLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const read = world.records(provider, refOf(sandbox, { name: 'nobody', attempt: 0 }));
      await expect(read).rejects.toMatchObject({ code: 'NotFound' });
    },
  },
  {
    name: 'puts the pieces of a long line together again, and keeps a line without an end',
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      // 40,000 bytes is more than the 16 KiB that engines cut at.
      const spec = world.shell("head -c 40000 /dev/zero | tr '\\0' x; echo; printf unfinished");
      await world.runToEnd(provider, sandbox, spec);
      const records = await world.records(provider, refOf(sandbox, spec));
      const text = records.map((record) => textOf(record) + (record.partial ? '' : '\n')).join('');
      expect(text.replace(/\n$/, '')).toBe(`${'x'.repeat(40_000)}\nunfinished`);
      expect(records[0]?.partial).toBe(records.length > 2);
    },
  },
  {
    name: 'leaves text of every script and control characters alone',
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const text = 'tab\there "quoted" \u001b[31mred\u001b[0m żółw 漢字 🐢 \u0001';
      const spec = world.shell('printf "%s\\n" "$TEXT"', { env: [{ name: 'TEXT', value: text }] });
      await world.runToEnd(provider, sandbox, spec);
      expect(await world.output(provider, refOf(sandbox, spec))).toEqual([text]);
    },
  },
  {
    name: 'leaves bytes that are no text alone',
    unless: (provider, harness) =>
      harness.logsKeepBytes ? needsShellAndLogs(provider, harness) : 'the log of the backend holds text only',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell("printf '\\377\\376\\001\\n'");
      await world.runToEnd(provider, sandbox, spec);
      const [record] = await world.records(provider, refOf(sandbox, spec));
      expect([...(record?.line ?? [])]).toEqual([0xff, 0xfe, 1]);
    },
  },
  {
    name: 'gives the output of a terminal as one stream',
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.shell('echo out; echo err >&2', { terminal: { tty: true, stdin: false, stdinOnce: false } });
      await world.runToEnd(provider, sandbox, spec);
      const records = await world.records(provider, refOf(sandbox, spec));
      expect(records.map(({ stream }) => stream)).toEqual(['stdout', 'stdout']);
      expect(records.map((record) => textOf(record).trimEnd())).toEqual(['out', 'err']);
    },
  },
];
