import { connect as connectHttp2 } from 'node:http2';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import type { DialTarget, EnvEntry, PodUid, SandboxSpec } from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import { FakeBackend } from './backend.ts';
import { FakeContainerProvider } from './container-provider.ts';
import type { FakeServerInput } from './schema.ts';

const options = { signal: new AbortController().signal };
const uid = 'u1' as PodUid;
const ref = { podUid: uid, container: 'main', attempt: 0 };
const sandbox: SandboxSpec = {
  pod: { uid, namespace: 'n', name: 'p' },
  attempt: 0,
  hostname: 'p',
  network: { mode: 'pod', ports: [], hostAliases: [] },
  volumes: [],
  sharePidNamespace: false,
  labels: {},
  hints: {},
};

async function podWith(servers: readonly FakeServerInput[], env: readonly EnvEntry[] = []) {
  const clock = new FakeClock();
  const backend = new FakeBackend(clock);
  const provider = new FakeContainerProvider(backend, { nodeName: 'n', ownerLabels: {} });
  await provider.images.pullImage('i', [], options);
  await provider.ensureSandbox(sandbox, options);
  const spec = { name: 'main', attempt: 0, role: 'main' as const, image: 'i', env, mounts: [], resources: {} };
  const rest = { security: {}, terminal: { tty: false, stdin: false, stdinOnce: false }, labels: {} };
  await provider.startContainer(sandbox, { ...spec, ...rest }, options);
  if (servers.length > 0) backend.listen(ref, servers);
  const dial = (target: DialTarget, signal = options.signal): Promise<Duplex> =>
    provider.dial.dial(uid, target, { signal });
  return { clock, backend, dial };
}

async function read(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

describe('a server of a fake container', () => {
  it('answers HTTP as scripted', async () => {
    const { dial } = await podWith([{ port: 80, status: 503, body: 'busy', headers: { 'X-Why': 'test' } }]);
    const stream = await dial({ to: 'pod', port: 80 });
    stream.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const answer = await read(stream);
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer).toContain('X-Why: test\r\n');
    expect(answer).toMatch(/\r\n\r\nbusy$/);
  });

  it('answers after its delay', async () => {
    const { clock, dial } = await podWith([{ port: 80, delayMs: 1_000 }]);
    const stream = await dial({ to: 'pod', port: 80 });
    stream.write('GET / HTTP/1.1\r\n\r\n');
    let answered = false;
    const answer = read(stream).finally(() => {
      answered = true;
    });
    await clock.advance(999);
    expect(answered).toBe(false);
    await clock.advance(1);
    expect(await answer).toContain('200');
  });

  it.each([
    [{ serving: true }, [0, 0, 0, 0, 2, 8, 1], '0'],
    [{ serving: false }, [0, 0, 0, 0, 2, 8, 2], '0'],
    [{ grpcStatus: 12 }, [], '12'],
  ])('answers health checks of gRPC: %j', async (script, bytes, status) => {
    const { dial } = await podWith([{ port: 90, does: 'grpc', ...script }]);
    const stream = await dial({ to: 'pod', port: 90 });
    const session = connectHttp2('http://pod', { createConnection: () => stream });
    const call = session.request({ ':method': 'POST', ':path': '/grpc.health.v1.Health/Check' });
    let seen: unknown;
    call.on('response', (headers) => {
      seen ??= headers['grpc-status'];
    });
    call.on('trailers', (trailers) => {
      seen = trailers['grpc-status'];
    });
    call.end(Buffer.from([0, 0, 0, 0, 0]));
    expect([...Buffer.concat(await call.toArray())]).toEqual(bytes);
    expect(seen).toBe(status);
    session.destroy();
  });

  it('takes the end of the input and answers then', async () => {
    const { dial } = await podWith([{ port: 7, does: 'count' }]);
    const stream = await dial({ to: 'loopback', port: 7 });
    stream.write('x'.repeat(1_000));
    stream.end('y');
    expect(await read(stream)).toBe('1001\n');
  });

  it('on loopback is reached by port-forward alone', async () => {
    const { dial } = await podWith([{ port: 80, on: 'loopback', banner: 'hi' }]);
    await expect(dial({ to: 'pod', port: 80 })).rejects.toMatchObject({ code: 'ConnectionRefused' });
    const stream = await dial({ to: 'loopback', port: 80 });
    expect(String(await new Promise((resolve) => stream.once('data', resolve)))).toBe('hi');
    stream.destroy();
  });

  it('is named by the environment', async () => {
    const { dial } = await podWith([], [{ name: 'FAKE_LISTEN', value: '8080 7000:echo@loopback nonsense' }]);
    (await dial({ to: 'pod', port: 8080 })).destroy();
    const echo = await dial({ to: 'loopback', port: 7000 });
    echo.end('back');
    expect(await read(echo)).toBe('back');
  });

  it('that never answers a connect holds the dial until it is aborted', async () => {
    const { dial } = await podWith([{ port: 80, does: 'drop' }]);
    const abort = new AbortController();
    const dialled = dial({ to: 'pod', port: 80 }, abort.signal);
    abort.abort(new Error('probe timed out'));
    await expect(dialled).rejects.toThrow('probe timed out');
  });

  it('resets its connections when its container ends', async () => {
    const { backend, dial } = await podWith([{ port: 80, does: 'silent' }]);
    const stream = await dial({ to: 'pod', port: 80 });
    const answer = read(stream);
    backend.exit(ref, { exitCode: 1 });
    await expect(answer).rejects.toMatchObject({ code: 'ECONNRESET' });
    await expect(dial({ to: 'pod', port: 80 })).rejects.toMatchObject({ code: 'ConnectionRefused' });
  });

  it('breaks the connection when told to', async () => {
    const { dial } = await podWith([{ port: 80, does: 'reset' }]);
    await expect(read(await dial({ to: 'pod', port: 80 }))).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('what a fake pod is not', () => {
  it('is refused or unreachable, in the words of Go', async () => {
    const { backend, dial } = await podWith([]);
    backend.host('db.example', [{ port: 5432, does: 'echo' }]);
    const refusal = { code: 'ConnectionRefused', message: 'connect: connection refused' };
    await expect(dial({ to: 'pod', port: 1 })).rejects.toMatchObject(refusal);
    await expect(dial({ to: 'host', host: 'db.example', port: 1 })).rejects.toMatchObject(refusal);
    const nowhere = { code: 'Unreachable', message: 'lookup x.example: no such host' };
    await expect(dial({ to: 'host', host: 'x.example', port: 1 })).rejects.toMatchObject(nowhere);
    (await dial({ to: 'host', host: 'db.example', port: 5432 })).destroy();
  });

  it('suffers the faults of the backend', async () => {
    const { backend, dial } = await podWith([{ port: 80 }]);
    backend.faults.failNext('dial', new ProviderError('Unavailable', 'gone'));
    await expect(dial({ to: 'pod', port: 80 })).rejects.toMatchObject({ code: 'Unavailable' });
    backend.killSandbox(uid);
    await expect(dial({ to: 'pod', port: 80 })).rejects.toMatchObject({ code: 'NotFound' });
    expect(backend.faults.callsOf('dial').at(-1)).toMatchObject({ subject: uid, detail: 'pod:80' });
  });
});
