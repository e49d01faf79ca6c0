import { createHash, X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeObservedPod, makePod } from '../testing/builders.ts';
import { makeAuthority, type TestAuthority } from '../testing/certificates.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { User } from './auth.ts';
import { KubeletServer, type KubeletServerOptions } from './server.ts';
import type { KeyAndCert } from './tls-files.ts';

interface Answer {
  readonly code: number | undefined;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

let authority: TestAuthority;
let stranger: TestAuthority;
let own: KeyAndCert;
let admin: { readonly key: string; readonly cert: string };

beforeAll(async () => {
  authority = await makeAuthority('test-ca');
  stranger = await makeAuthority('test-ca');
  own = await authority.issue({ commonName: 'node-1', usage: 'server' });
  admin = await authority.issue({ commonName: 'kube-apiserver', organizations: ['system:masters', 'others'] });
});

let directory: string;
const running: KubeletServer[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'outrigger-server-'));
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
  await rm(directory, { recursive: true });
});

async function start(overrides: Partial<KubeletServerOptions> = {}, { withAuthority = true } = {}) {
  const clientCaFile = join(directory, 'ca.crt');
  await writeFile(clientCaFile, authority.cert);
  const clock = new FakeClock();
  const warnings: string[] = [];
  const server = new KubeletServer({
    address: '127.0.0.1',
    port: 0,
    serving: { type: 'issued', current: () => own, onChange: () => () => {} },
    ...(withAuthority && { clientCaFile }),
    pods: () => [],
    findPod: () => undefined,
    status: () => undefined,
    observed: { get: () => undefined },
    authorize: () => Promise.resolve(true),
    checks: [],
    metrics: { main: async () => '', probing: async () => '', slis: async () => '' },
    http: { began: () => () => {}, streamOpened: () => () => {} },
    clock,
    log: { info: () => {}, warn: (_fields: unknown, text?: unknown) => warnings.push(String(text)), error: () => {} },
    ...overrides,
  });
  running.push(server);
  const { port } = await server.start();
  const get = (path: string, options: RequestOptions = admin): Promise<Answer> => fetchText(port, path, options);
  return { server, port, clock, get, warnings };
}

function fetchText(port: number, path: string, options: RequestOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false, ...options },
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          body += text;
        });
        response.on('end', () => resolve({ code: response.statusCode, body, headers: response.headers }));
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end();
  });
}

function handshake(port: number, options: object = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => resolve(socket));
    socket.on('error', reject);
  });
}

describe('authentication', () => {
  const PATHS = ['/healthz', '/pods', '/containerLogs/ns/p/c', '/nothing/here', '/%zz'];

  it('answers 401 to everybody without a certificate, whatever the path', async () => {
    const { get } = await start();
    for (const path of PATHS) expect(await get(path, {})).toMatchObject({ code: 401, body: 'Unauthorized' });
    expect(await get('/pods', { method: 'OPTIONS' })).toMatchObject({ code: 401 });
  });

  it('answers 401 to certificates of another authority, of itself, out of date, or for servers', async () => {
    const { get } = await start();
    const certificates = [
      await stranger.issue({ commonName: 'kube-apiserver', organizations: ['system:masters'] }),
      await authority.issue({ commonName: 'kube-apiserver', expired: true }),
      await authority.issue({ commonName: 'kube-apiserver', usage: 'server' }),
    ];
    for (const certificate of certificates) expect(await get('/healthz', certificate)).toMatchObject({ code: 401 });
  });

  it('lets nobody in when no authority is configured', async () => {
    const { get } = await start({}, { withAuthority: false });
    expect(await get('/healthz')).toMatchObject({ code: 401, body: 'Unauthorized' });
  });

  it('takes the name and all groups from the certificate', async () => {
    const users: User[] = [];
    const { get } = await start({
      authorize: (user) => {
        users.push(user);
        return Promise.resolve(true);
      },
    });
    expect(await get('/healthz')).toMatchObject({ code: 200, body: 'ok' });
    const id = createHash('sha256').update(new X509Certificate(admin.cert).raw).digest('hex');
    expect(users).toEqual([
      {
        name: 'kube-apiserver',
        groups: ['system:masters', 'others', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${id}`] },
      },
    ]);
  });

  it('does not resume sessions', async () => {
    const { port } = await start();
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const first = await handshake(port, { ...admin, maxVersion });
      first.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      let session: Buffer | undefined;
      first.on('session', (ticket: Buffer) => {
        session = ticket;
      });
      first.resume();
      await new Promise((resolve) => first.once('close', resolve));
      const second = await handshake(port, { maxVersion, ...(session && { session }) });
      expect(second.isSessionReused()).toBe(false);
      second.destroy();
    }
  });

  it('speaks TLS 1.2 and up', async () => {
    const { port } = await start();
    await expect(handshake(port, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' })).rejects.toThrow();
    const socket = await handshake(port, { maxVersion: 'TLSv1.2' });
    expect(socket.getProtocol()).toBe('TLSv1.2');
    socket.destroy();
  });
});

it('speaks the versions and cipher suites that it is told', async () => {
  const { port } = await start({
    tlsMinVersion: 'TLSv1.2',
    tlsCiphers: ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
  });
  const cipher = async (options: object): Promise<string> => {
    const socket = await handshake(port, options);
    const { name } = socket.getCipher();
    socket.destroy();
    return name;
  };
  expect(await cipher({ maxVersion: 'TLSv1.2' })).toBe('ECDHE-ECDSA-AES256-GCM-SHA384');
  expect(await cipher({})).toMatch(/^TLS_AES_/);
  await expect(cipher({ maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' })).rejects.toThrow();
  const { port: modern } = await start({ tlsMinVersion: 'TLSv1.3' });
  await expect(handshake(modern, { maxVersion: 'TLSv1.2' })).rejects.toThrow();
});

describe('authorization', () => {
  it('that cannot be decided is a failure of ours', async () => {
    const { get, warnings } = await start({ authorize: () => Promise.reject(new Error('no API server')) });
    expect(await get('/healthz')).toMatchObject({
      code: 500,
      body: 'Authorization error (user=kube-apiserver, verb=get, resource=nodes, subresource=healthz)',
    });
    expect(warnings).toEqual(['request could not be authorized']);
  });
});

describe('routes', () => {
  it('/pods lists the desired pods', async () => {
    const pod = makePod({ metadata: { annotations: { a: 'b' } } });
    const { get } = await start({ pods: () => [pod] });
    const answer = await get('/pods');
    expect(answer.headers['content-type']).toContain('application/json');
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = pod;
    expect(JSON.parse(answer.body)).toEqual({
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [
        { ...rest, metadata: { ...pod.metadata, annotations: { a: 'b', 'kubernetes.io/config.source': 'api' } } },
      ],
    });
  });

  it('/healthz tells what is wrong', async () => {
    const checks = [
      { name: 'ping', check: () => undefined },
      { name: 'backend', check: () => 'no engine' },
    ];
    const { get } = await start({ checks });
    expect(await get('/healthz')).toMatchObject({
      code: 500,
      body: '[+]ping ok\n[-]backend failed: reason withheld\nhealthz check failed\n',
    });
    expect(await get('/healthz?exclude=backend&verbose')).toMatchObject({
      code: 200,
      body: '[+]ping ok\n[+]backend excluded: ok\nhealthz check passed\n',
    });
    expect(await get('/healthz/ping')).toMatchObject({ code: 200, body: 'ok' });
    expect(await get('/healthz/backend')).toMatchObject({ code: 500, body: 'internal server error: no engine\n' });
    expect(await get('/healthz/nothing')).toMatchObject({ code: 404 });
  });

  it('answers 404, 405 and 400 as plain text', async () => {
    const { get } = await start();
    expect(await get('/nothing')).toMatchObject({ code: 404, body: '404 page not found\n' });
    expect(await get('/containerLogs/ns')).toMatchObject({ code: 404, body: '404: Page Not Found' });
    expect(await get('/PODS')).toMatchObject({ code: 404 });
    expect(await get('/pods', { ...admin, method: 'POST' })).toMatchObject({ code: 405, headers: { allow: 'GET' } });
    expect(await get('/containerLogs/ns/p/%zz')).toMatchObject({ code: 400 });
  });
});

/** Files are read by the system, in real time. */
async function eventually(clock: FakeClock, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 8_000;
  while (performance.now() < deadline) {
    if (await condition()) return;
    await clock.advance(10_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('it did not happen');
}

describe('a connection that stays open', () => {
  /** Requests over one connection, as clients make them that ask again and again. */
  function keptOpen() {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    agent.on('free', (socket) => ports.add(socket.localPort));
    return { agent, ports };
  }

  it('lets nobody in whose certificate has run out meanwhile', async () => {
    const { get, clock } = await start();
    const { agent, ports } = keptOpen();
    const nowMs = Date.now();
    const validity = { fromMs: nowMs - 3_600_000, untilMs: nowMs + 3_600_000 };
    const client = { ...(await authority.issue({ commonName: 'scraper', validity })), agent };
    clock.set(nowMs);
    expect(await get('/healthz', client)).toMatchObject({ code: 200 });
    clock.set(nowMs + 3_602_000);
    expect(await get('/healthz', client)).toMatchObject({ code: 401 });
    expect(ports.size).toBe(1);
    agent.destroy();
  });

  it('ends when its authority may have been taken away, busy ones after their answer', async () => {
    const held = Promise.withResolvers<boolean>();
    let asked = 0;
    const { get, clock, port } = await start({
      authorize: () => (++asked === 2 ? held.promise : Promise.resolve(true)),
    });
    const [idle, busy] = [keptOpen().agent, keptOpen().agent];
    expect(await get('/healthz', { ...admin, agent: idle })).toMatchObject({ code: 200 });
    const slow = get('/healthz', { ...admin, agent: busy });
    await eventually(clock, () => Promise.resolve(asked === 2));
    await writeFile(join(directory, 'ca.crt'), stranger.cert);
    const client = await stranger.issue({ commonName: 'new-apiserver' });
    await eventually(clock, async () => (await fetchText(port, '/healthz', client)).code === 200);
    await eventually(clock, async () => Object.keys(idle.freeSockets).length === 0);
    expect(await get('/healthz', { ...admin, agent: idle })).toMatchObject({ code: 401 });
    held.resolve(true);
    expect(await slow).toMatchObject({ code: 200 });
    await eventually(clock, async () => Object.keys(busy.freeSockets).length === 0);
    expect(await get('/healthz', { ...admin, agent: busy })).toMatchObject({ code: 401 });
    for (const agent of [idle, busy]) agent.destroy();
  });
});

describe('certificates of the server', () => {
  it('is not there yet: the port is open, handshakes fail, and the next ones go well once it is issued', async () => {
    let current: KeyAndCert | undefined;
    const listeners = new Set<() => void>();
    const { port, clock } = await start({
      serving: {
        type: 'issued',
        current: () => current,
        onChange: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
    });
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
      await expect(handshake(port, { maxVersion, servername: 'node-1' })).rejects.toThrow(/alert handshake failure/);
    current = await authority.issue({ commonName: 'issued', usage: 'server' });
    for (const listener of listeners) listener();
    await eventually(clock, async () => (await servedOrRefused(port)) === 'issued');
    // Expired: looked at every ten seconds.
    current = undefined;
    await eventually(clock, async () => /alert handshake failure/.test(String(await servedOrRefused(port))));
  });

  async function writePair(name: string): Promise<{ type: 'files'; certFile: string; keyFile: string }> {
    const pair = await authority.issue({ commonName: name, usage: 'server', hosts: [name] });
    const files = { type: 'files' as const, certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') };
    await writeFile(files.certFile, pair.cert);
    await writeFile(files.keyFile, pair.key);
    return files;
  }

  async function served(port: number): Promise<unknown> {
    const socket = await handshake(port);
    const { CN } = socket.getPeerCertificate().subject;
    socket.destroy();
    return CN;
  }

  function servedOrRefused(port: number): Promise<unknown> {
    return served(port).catch((error: unknown) => error);
  }

  it('comes from files, and follows them', async () => {
    const { port, clock, get, warnings } = await start({ serving: await writePair('one') });
    expect(await served(port)).toBe('one');
    const client = await stranger.issue({ commonName: 'new-apiserver' });
    expect(await get('/healthz', client)).toMatchObject({ code: 401 });

    await writeFile(join(directory, 'tls.crt'), 'half wri');
    await eventually(clock, () => Promise.resolve(warnings.includes('TLS files not reloaded')));
    expect(await served(port)).toBe('one');

    await writePair('two');
    await writeFile(join(directory, 'ca.crt'), stranger.cert);
    await eventually(clock, async () => (await get('/healthz', client)).code === 200);
    expect(await served(port)).toBe('two');
    expect(await get('/healthz')).toMatchObject({ code: 401 });
  });

  it('that cannot be read or used stop the start with the name of the flag or file', async () => {
    const missing = { type: 'files' as const, certFile: join(directory, 'no.crt'), keyFile: join(directory, 'no.key') };
    await expect(start({ serving: missing })).rejects.toThrow(`--tls-cert-file ${missing.certFile}: ENOENT`);
    await expect(start({ clientCaFile: join(directory, 'no-ca') })).rejects.toThrow('--client-ca-file');
    await writeFile(missing.certFile, 'x');
    await writeFile(missing.keyFile, 'y');
    await expect(start({ serving: missing })).rejects.toMatchObject({ name: 'UsageError' });
    await expect(start({ clientCaFile: missing.certFile })).rejects.toThrow(`cannot be used (${missing.certFile})`);
  });
});

it('says which address cannot be had', async () => {
  const { port } = await start();
  await expect(start({ port })).rejects.toThrow(`--address, --port 127.0.0.1:${port}: listen EADDRINUSE`);
});

describe('clients that behave badly', () => {
  it('with headers of more than a megabyte get 431, if they wait for it', async () => {
    const { get } = await start();
    const headers = { 'x-long': 'x'.repeat(1 << 20) };
    const answer = get('/healthz', { ...admin, headers }).then(({ code }) => code);
    // The connection is cut while the client still writes.
    expect([431, undefined]).toContain(await answer.catch(() => undefined));
    expect(await get('/healthz', { ...admin, headers: { 'x-long': 'x'.repeat(500_000) } })).toMatchObject({
      code: 200,
    });
  });

  it('that connect and say nothing keep nobody else out', async () => {
    const { get, port } = await start();
    const silent = await Promise.all(
      Array.from({ length: 1_000 }, () => {
        const socket = connectTcp({ host: '127.0.0.1', port });
        socket.on('error', () => {});
        return new Promise<typeof socket>((resolve) => socket.once('connect', () => resolve(socket)));
      }),
    );
    expect(await get('/healthz')).toMatchObject({ code: 200, body: 'ok' });
    for (const socket of silent) socket.destroy();
  });
});

describe('requests for a stream', () => {
  const UPGRADE = [
    'POST /portForward/ns/p HTTP/1.1',
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    'X-Stream-Protocol-Version: portforward.k8s.io',
    'Content-Length: 0',
  ].join('\r\n');

  async function upgrade(port: number, credentials: object): Promise<{ socket: TLSSocket; answer: string }> {
    const socket = await handshake(port, credentials);
    socket.write(`${UPGRADE}\r\n\r\n`);
    const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
    return { socket, answer };
  }

  it('are let in by the same certificates as others', async () => {
    const { port } = await start();
    const refused = await upgrade(port, {});
    expect(refused.answer).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n[\s\S]*\r\n\r\nUnauthorized$/);
    const known = await upgrade(port, admin);
    expect(known.answer).toMatch(/^HTTP\/1\.1 404 Not Found\r\n[\s\S]*\r\n\r\npod does not exist$/);
  });

  it('end with the server, though the client says nothing', async () => {
    const dial = { dial: () => Promise.reject(new Error('nobody asked')) };
    const observed = { get: () => ({ pod: makeObservedPod(), at: 1 }) };
    const { server, port } = await start({ dial, observed, findPod: () => makePod() });
    const { socket, answer } = await upgrade(port, admin);
    expect(answer).toMatch(/^HTTP\/1\.1 101 /);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await server.stop();
    await closed;
  });

  // curl asks for h2c by itself; the kubelet ignores that.
  it('of another kind are answered as if they had not asked', async () => {
    const { get } = await start();
    const headers = { Connection: 'Upgrade', Upgrade: 'h2c' };
    expect(await get('/healthz', { ...admin, headers })).toMatchObject({ code: 200, body: 'ok' });
  });
});
