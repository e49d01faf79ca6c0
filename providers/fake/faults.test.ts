import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock, settle } from '../../src/testing/fake-clock.ts';
import {
  type ContainerSpec,
  type PodUid,
  ProviderError,
  type ProviderHint,
  type SandboxSpec,
} from '../contract/index.ts';
import { FakeBackend } from './backend.ts';
import { FakeContainerProvider } from './container-provider.ts';
import { parseConfig } from './schema.ts';

const SANDBOX: SandboxSpec = {
  pod: { uid: 'u-1' as PodUid, namespace: 'ns', name: 'web' }, // a UID of the test's own
  attempt: 0,
  hostname: 'web',
  network: { mode: 'pod', ports: [], hostAliases: [] },
  volumes: [],
  sharePidNamespace: false,
  labels: {},
  hints: {},
};
const WEB: ContainerSpec = {
  name: 'web',
  attempt: 0,
  role: 'main',
  image: 'web:1',
  env: [],
  mounts: [],
  resources: {},
  security: {},
  terminal: { tty: false, stdin: false, stdinOnce: false },
  labels: {},
};
const REF = { podUid: SANDBOX.pod.uid, container: 'web', attempt: 0 };
const CONTEXT = { nodeName: 'n', ownerLabels: { owner: 'n' } };

let clock: FakeClock;
let backend: FakeBackend;
let provider: FakeContainerProvider;
let abort: AbortController;
let options: { signal: AbortSignal };

beforeEach(() => {
  clock = new FakeClock();
  backend = new FakeBackend(clock, parseConfig({ present: ['web:1'] }));
  provider = new FakeContainerProvider(backend, CONTEXT);
  abort = new AbortController();
  options = { signal: abort.signal };
});

describe('faults between provider and backend', () => {
  test('a planned failure happens once and does nothing', async () => {
    backend.faults.failNext('ensureSandbox', new ProviderError('ResourceExhausted', 'full'));
    await expect(provider.ensureSandbox(SANDBOX, options)).rejects.toThrow('full');
    expect(await provider.inspect(SANDBOX.pod.uid, options)).toBeUndefined();
    await provider.ensureSandbox(SANDBOX, options);
    expect(await provider.inspect(SANDBOX.pod.uid, options)).toBeDefined();
  });

  test('a lost reply is a failure of something that was done', async () => {
    await provider.ensureSandbox(SANDBOX, options);
    backend.faults.loseReply('startContainer');
    await expect(provider.startContainer(SANDBOX, WEB, options)).rejects.toMatchObject({ code: 'Unavailable' });
    expect(backend.container(REF)?.state.status).toBe('running');
    await provider.startContainer(SANDBOX, WEB, options);
    expect(backend.pods.get(SANDBOX.pod.uid)?.containers.size).toBe(1);
  });

  test('a hung call ends with its signal, or goes on when released', async () => {
    backend.faults.hang('ensureSandbox', 2);
    const first = provider.ensureSandbox(SANDBOX, options);
    abort.abort();
    await expect(first).rejects.toBe(abort.signal.reason);
    const second = provider.ensureSandbox(SANDBOX, { signal: new AbortController().signal });
    await settle();
    expect(backend.pods.size).toBe(0);
    backend.faults.release();
    await second;
    expect(backend.pods.size).toBe(1);
  });

  test('while the backend is unavailable every call says so, and nothing changes', async () => {
    await provider.ensureSandbox(SANDBOX, options);
    backend.faults.setUnavailable('connection refused');
    for (const call of [
      provider.list(options),
      provider.describeHost(options),
      provider.removeSandbox(SANDBOX.pod.uid, options),
      provider.images.imagePresent('web:1', options),
    ])
      await expect(call).rejects.toMatchObject({ code: 'Unavailable', message: 'connection refused' });
    expect(() => provider.watch(options)).toThrow('connection refused');
    backend.faults.setUnavailable(undefined);
    expect(await provider.list(options)).toHaveLength(1);
  });

  test('calls take as long as told', async () => {
    backend.faults.latencyMs = 200;
    let done = false;
    const call = provider.ensureSandbox(SANDBOX, options).then(() => {
      done = true;
    });
    await clock.advance(199);
    expect(done).toBe(false);
    await clock.advance(1);
    await call;
  });

  test('the journal has every call with its subject, failed ones too', async () => {
    await provider.ensureSandbox(SANDBOX, options);
    await provider.startContainer(SANDBOX, WEB, options);
    backend.faults.failNext('stopContainer', new ProviderError('Internal', 'no'));
    await provider.stopContainer(REF, { graceSeconds: 3 }, options).catch(() => undefined);
    expect(backend.faults.calls.map(({ method, subject, detail }) => [method, subject, detail])).toEqual([
      ['ensureSandbox', 'u-1', undefined],
      ['startContainer', 'u-1/web#0', undefined],
      ['stopContainer', 'u-1/web#0', 'grace 3'],
    ]);
  });

  test('the event stream can be cut, with or without an error', async () => {
    const read = async (): Promise<ProviderHint[]> => {
      const hints: ProviderHint[] = [];
      for await (const hint of provider.watch(options)) hints.push(hint);
      return hints;
    };
    const first = read();
    await provider.ensureSandbox(SANDBOX, options);
    await settle();
    backend.hints.cut();
    expect(await first).toEqual([{ type: 'pod', uid: 'u-1' }]);
    const second = read();
    await settle();
    backend.hints.cut(new ProviderError('Unavailable', 'gone'));
    await expect(second).rejects.toThrow('gone');
    expect(backend.hints.watchers).toBe(0);
  });
});

describe('what happens on the backend behind the provider', () => {
  beforeEach(async () => {
    await provider.ensureSandbox(SANDBOX, options);
    await provider.startContainer(SANDBOX, WEB, options);
  });

  test('a container killed outside', async () => {
    backend.exit(REF, { exitCode: 137, signal: 9, oomKilled: true });
    const pod = await provider.inspect(SANDBOX.pod.uid, options);
    expect(pod?.containers[0]?.state).toMatchObject({ status: 'exited', exitCode: 137, oomKilled: true });
  });

  test('a container that is lost without a trace', async () => {
    backend.loseContainer(REF);
    expect((await provider.inspect(SANDBOX.pod.uid, options))?.containers).toEqual([]);
  });

  test('a daemon that restarts and takes everything running along', async () => {
    backend.crash();
    const pod = await provider.inspect(SANDBOX.pod.uid, options);
    expect(pod).toMatchObject({ state: 'stopped', ips: [] });
    expect(pod?.containers[0]?.state).toMatchObject({ status: 'exited', exitCode: 137 });
  });

  test('output that tests write', async () => {
    backend.writeLog(REF, 'hello', 'stderr');
    const lines: string[] = [];
    for await (const record of provider.logs.logs(REF, { follow: false }, options))
      lines.push(`${record.stream} ${new TextDecoder().decode(record.line)}`);
    expect(lines).toEqual(['stderr hello']);
  });
});

describe('scripted ends', () => {
  const run = async (script: Parameters<FakeBackend['script']>[1]): Promise<void> => {
    backend.script({ container: 'web' }, script);
    await provider.ensureSandbox(SANDBOX, options);
    await provider.startContainer(SANDBOX, WEB, options);
  };

  test('an end of its own, by time', async () => {
    await run({ exitAfterMs: 5000, exitCode: 2, message: 'bye' });
    await clock.advance(4999);
    expect(backend.container(REF)?.state.status).toBe('running');
    await clock.advance(1);
    expect(backend.container(REF)?.state).toMatchObject({ status: 'exited', exitCode: 2, message: 'bye' });
  });

  test('an OOM kill has exit code 137', async () => {
    await run({ exitAfterMs: 10, oomKilled: true });
    await clock.advance(10);
    expect(backend.container(REF)?.state).toMatchObject({ exitCode: 137, signal: 9, oomKilled: true });
  });

  test('the time that a stop takes', async () => {
    await run({ stopAfterMs: 3000, stopExitCode: 0 });
    await provider.stopContainer(REF, { graceSeconds: 30 }, options);
    await clock.advance(2000);
    await provider.stopContainer(REF, { graceSeconds: 10 }, options);
    expect(backend.container(REF)?.state.status).toBe('running');
    await clock.advance(1000);
    expect(backend.container(REF)?.state).toMatchObject({ status: 'exited', exitCode: 0 });
  });

  test('a start that takes its time shows a created container', async () => {
    backend = new FakeBackend(clock, parseConfig({ present: ['web:1'], latency: { startMs: 1000 } }));
    provider = new FakeContainerProvider(backend, CONTEXT);
    await provider.ensureSandbox(SANDBOX, options);
    const start = provider.startContainer(SANDBOX, WEB, options);
    await clock.advance(500);
    expect(backend.container(REF)?.state.status).toBe('created');
    await clock.advance(500);
    await start;
    expect(backend.container(REF)?.state.status).toBe('running');
  });
});
