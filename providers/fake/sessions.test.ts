import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import type { ContainerRef, ContainerSpec, ExecRequest, ExecSession, PodUid } from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import { FakeBackend } from './backend.ts';
import { FakeContainerProvider } from './container-provider.ts';
import { parseConfig } from './schema.ts';

const UID = 'uid-1' as PodUid;
const REF: ContainerRef = { podUid: UID, container: 'web', attempt: 0 };
const SPEC: ContainerSpec = {
  name: 'web',
  attempt: 0,
  role: 'main',
  image: 'web:1',
  command: ['server'],
  env: [{ name: 'NAME', value: 'value' }],
  mounts: [],
  resources: {},
  security: {},
  terminal: { tty: false, stdin: false, stdinOnce: false },
  labels: {},
};

let dispose: (() => void) | undefined;
afterEach(() => dispose?.());

async function setup(config: object = {}) {
  const clock = new FakeClock();
  const backend = new FakeBackend(clock, parseConfig({ present: ['web:1'], ...config }));
  dispose = () => backend.dispose();
  const provider = new FakeContainerProvider(backend, { nodeName: 'n', ownerLabels: {} });
  const { signal } = new AbortController();
  const sandbox = {
    pod: { uid: UID, namespace: 'ns', name: 'web' },
    attempt: 0,
    hostname: 'web-0',
    network: { mode: 'pod', ports: [], hostAliases: [] },
    volumes: [],
    sharePidNamespace: false,
    labels: {},
    hints: {},
  } as const;
  await provider.ensureSandbox(sandbox, { signal });
  await provider.startContainer(sandbox, SPEC, { signal });
  const exec = (command: readonly string[], request: Partial<ExecRequest> = {}): Promise<ExecSession> =>
    provider.exec.exec(REF, { command, tty: false, stdin: false, ...request }, { signal });
  return { clock, backend, provider, exec };
}

async function read(session: ExecSession) {
  const text = async (stream: ExecSession['stdout'] | undefined): Promise<string> => {
    let all = '';
    for await (const chunk of stream ?? []) all += String(chunk);
    return all;
  };
  const [stdout, stderr, exit] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
  return { stdout, stderr, exit };
}

describe('a command in a container', () => {
  it('is played', async () => {
    const { exec } = await setup();
    const script = 'echo $NAME; hostname; false || nope; exit 4';
    expect(await read(await exec(['sh', '-c', script]))).toEqual({
      stdout: 'value\nweb-0\n',
      stderr: 'sh: nope: not found\n',
      exit: { type: 'exited', code: 4 },
    });
  });

  it('may be a shell that reads its commands', async () => {
    const { exec } = await setup();
    const session = await exec(['/bin/sh'], { stdin: true, tty: true });
    session.resize({ columns: 90, rows: 20 });
    session.stdin?.write('stty size\r');
    session.stdin?.write('exit 5\r');
    expect(await read(session)).toMatchObject({ stdout: '20 90\r\n', exit: { code: 5 } });
  });

  it('takes its time', async () => {
    const { exec, clock } = await setup();
    const session = await exec(['sleep', '10']);
    let ended = false;
    const reading = read(session).finally(() => {
      ended = true;
    });
    await clock.advance(9_999);
    expect(ended).toBe(false);
    await clock.advance(1);
    expect(await reading).toMatchObject({ exit: { code: 0 } });
  });

  it('does what the script says instead, the last answer that is for it', async () => {
    const exec = [
      { stdout: 'any' },
      { command: 'check -v', exitCode: 1, stderr: 'sick', afterMs: 500 },
      { command: 'gone', startError: 'no such file' },
    ];
    const { exec: run, clock } = await setup({ scripts: [{ container: 'web', exec }] });
    expect(await read(await run(['other']))).toMatchObject({ stdout: 'any', exit: { code: 0 } });
    const slow = read(await run(['check', '-v']));
    await clock.advance(500);
    expect(await slow).toEqual({ stdout: '', stderr: 'sick', exit: { type: 'exited', code: 1 } });
    expect(await read(await run(['gone']))).toMatchObject({
      exit: { type: 'failed', error: { code: 'Internal', message: 'no such file', reason: 'StartError' } },
    });
  });

  it('does what a test says, while it says so', async () => {
    const { exec, backend } = await setup();
    backend.answerExec((ref, command) =>
      ref.container === 'web' && command[0] === 'true' ? { exitCode: 9 } : undefined,
    );
    expect(await read(await exec(['true']))).toMatchObject({ exit: { code: 9 } });
    expect(await read(await exec(['false']))).toMatchObject({ exit: { code: 1 } });
    backend.answerExec(undefined);
    expect(await read(await exec(['true']))).toMatchObject({ exit: { code: 0 } });
  });

  it('can go wrong as every call can', async () => {
    const { exec, backend } = await setup();
    backend.faults.failNext('exec', new ProviderError('Unavailable', 'down'));
    await expect(exec(['true'])).rejects.toThrow('down');
    const session = await exec(['cat'], { stdin: true });
    backend.cutSessions();
    expect(await session.exit).toMatchObject({ type: 'failed', error: { code: 'Unavailable' } });
    expect(session.stdout.destroyed).toBe(true);
    expect(backend.sessions.size).toBe(0);
    expect(backend.faults.callsOf('exec').map(({ detail }) => detail)).toEqual(['true', 'cat']);
  });

  it('waits while nobody reads it', async () => {
    const { exec, clock } = await setup();
    const session = await exec(['yes']);
    await clock.advance(1000);
    expect(session.stdout.readableLength).toBeLessThan(256 * 1024);
    expect(session.stdout.readableLength).toBeGreaterThan(0);
  });
});
