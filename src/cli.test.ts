import { describe, expect, it } from 'vitest';
import { type CliActions, runCli } from './cli.ts';
import type { FlagTexts } from './config/flags.ts';
import { loadConfig } from './config/load.ts';
import { UsageError } from './util/errors.ts';

interface Outcome {
  readonly code: number;
  readonly out: string[];
  readonly err: string[];
  readonly flags: FlagTexts | undefined;
  readonly ran: boolean;
}

async function outrigger(argv: readonly string[], overrides: Partial<CliActions> = {}): Promise<Outcome> {
  const out: string[] = [];
  const err: string[] = [];
  let flags: FlagTexts | undefined;
  let ran = false;
  const code = await runCli(argv, {
    version: '1.2.3',
    load: (texts) => {
      flags = texts;
      // Where the serving certificate comes from has to be said; what these tests say is about the command line.
      return loadConfig(
        { 'self-signed-serving-certificate': 'true', ...texts },
        { cwd: '/', hostname: 'box', readFile: async () => '' },
      );
    },
    checkProviders: async () => {},
    run: async () => {
      ran = true;
    },
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    ...overrides,
  });
  return { code, out, err, flags, ran };
}

describe('outrigger', () => {
  it('runs by default', async () => {
    expect(await outrigger([])).toMatchObject({ code: 0, ran: true, flags: {}, err: [] });
    expect(await outrigger(['run', '--port', '0'])).toMatchObject({ code: 0, ran: true, flags: { port: '0' } });
  });

  it('takes flags as the kubelet does: with = or a space, booleans bare, lists repeated, -v=4', async () => {
    const argv = [
      '--provider=fake',
      '--hostname-override',
      'n1',
      '--register-node=false',
      '--node-labels=a=b',
      '--node-labels',
      'c=d,e=f',
      '--register-with-taints=',
      '-v=4',
      '--port=1',
      '--port=2',
    ];
    expect((await outrigger(argv)).flags).toEqual({
      provider: 'fake',
      'hostname-override': 'n1',
      'register-node': 'false',
      'node-labels': 'a=b,c=d,e=f',
      'register-with-taints': '',
      v: '4',
      port: '2',
    });
    expect((await outrigger(['--register-node', '-v', '5'])).flags).toEqual({ 'register-node': 'true', v: '5' });
  });

  it.each([
    [['--prot', '1'], "outrigger: unknown option '--prot' (Did you mean --port?)"],
    [['--port'], "outrigger: option '--port <n>' argument missing"],
    [['frobnicate'], /^outrigger: .*frobnicate|too many arguments/],
    [['--port', 'x'], 'outrigger: --port: "x" must be a whole number from 0 to 65535'],
    [['check-config', '--max-pods=none'], 'outrigger: --max-pods: "none" must be a whole number, 1 or more'],
  ])('%j ends with one line and exit code 2', async (argv, line) => {
    const { code, err, out, ran } = await outrigger(argv);
    expect({ code, ran, lines: err.length, out }).toEqual({ code: 2, ran: false, lines: 1, out: [] });
    expect(err[0]).toEqual(typeof line === 'string' ? line : expect.stringMatching(line));
  });

  it('a usage error of a provider ends the same way', async () => {
    const { code, err, ran } = await outrigger([], {
      checkProviders: () => Promise.reject(new UsageError('--provider: "x" is not known')),
    });
    expect({ code, err, ran }).toEqual({ code: 2, err: ['outrigger: --provider: "x" is not known'], ran: false });
  });

  it('leaves other failures to its caller', async () => {
    await expect(outrigger([], { run: () => Promise.reject(new Error('boom')) })).rejects.toThrow('boom');
  });

  it('check-config prints the effective configuration and runs nothing', async () => {
    const { code, out, ran } = await outrigger(['check-config', '--provider', 'fake', '--hostname-override=n1']);
    expect({ code, ran }).toEqual({ code: 0, ran: false });
    expect(JSON.parse(out.join('\n'))).toMatchObject({ nodes: [{ name: 'n1', provider: 'fake', port: 10250 }] });
  });

  it('prints help and version with exit code 0', async () => {
    expect(await outrigger(['--version'])).toMatchObject({ code: 0, out: ['1.2.3'], ran: false });
    const { code, out } = await outrigger(['run', '--help']);
    expect(code).toBe(0);
    expect(out.join('\n')).toContain('--register-with-taints');
  });
});
