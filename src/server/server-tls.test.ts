import { createHash, X509Certificate } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { User } from './auth.ts';
import { eventually, fetchText, handshake, ServerBed } from './testing/server-bed.ts';
import type { KeyAndCert } from './tls-files.ts';

let bed: ServerBed;

beforeAll(async () => {
  bed = await ServerBed.make();
});
beforeEach(() => bed.begin());
afterEach(() => bed.end());

const start: ServerBed['start'] = (...args) => bed.start(...args);

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
      await bed.stranger.issue({ commonName: 'kube-apiserver', organizations: ['system:masters'] }),
      await bed.authority.issue({ commonName: 'kube-apiserver', expired: true }),
      await bed.authority.issue({ commonName: 'kube-apiserver', usage: 'server' }),
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
    const id = createHash('sha256').update(new X509Certificate(bed.admin.cert).raw).digest('hex');
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
      const first = await handshake(port, { ...bed.admin, maxVersion });
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
    const client = { ...(await bed.authority.issue({ commonName: 'scraper', validity })), agent };
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
    expect(await get('/healthz', { ...bed.admin, agent: idle })).toMatchObject({ code: 200 });
    const slow = get('/healthz', { ...bed.admin, agent: busy });
    await eventually(clock, () => Promise.resolve(asked === 2));
    await writeFile(join(bed.directory, 'ca.crt'), bed.stranger.cert);
    const client = await bed.stranger.issue({ commonName: 'new-apiserver' });
    await eventually(clock, async () => (await fetchText(port, '/healthz', client)).code === 200);
    await eventually(clock, async () => Object.keys(idle.freeSockets).length === 0);
    expect(await get('/healthz', { ...bed.admin, agent: idle })).toMatchObject({ code: 401 });
    held.resolve(true);
    expect(await slow).toMatchObject({ code: 200 });
    await eventually(clock, async () => Object.keys(busy.freeSockets).length === 0);
    expect(await get('/healthz', { ...bed.admin, agent: busy })).toMatchObject({ code: 401 });
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
    current = await bed.authority.issue({ commonName: 'issued', usage: 'server' });
    for (const listener of listeners) listener();
    await eventually(clock, async () => (await servedOrRefused(port)) === 'issued');
    // Expired: looked at every ten seconds.
    current = undefined;
    await eventually(clock, async () => /alert handshake failure/.test(String(await servedOrRefused(port))));
  });

  async function writePair(name: string): Promise<{ type: 'files'; certFile: string; keyFile: string }> {
    const pair = await bed.authority.issue({ commonName: name, usage: 'server', hosts: [name] });
    const files = {
      type: 'files' as const,
      certFile: join(bed.directory, 'tls.crt'),
      keyFile: join(bed.directory, 'tls.key'),
    };
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
    const client = await bed.stranger.issue({ commonName: 'new-apiserver' });
    expect(await get('/healthz', client)).toMatchObject({ code: 401 });

    await writeFile(join(bed.directory, 'tls.crt'), 'half wri');
    await eventually(clock, () => Promise.resolve(warnings.includes('TLS files not reloaded')));
    expect(await served(port)).toBe('one');

    await writePair('two');
    await writeFile(join(bed.directory, 'ca.crt'), bed.stranger.cert);
    await eventually(clock, async () => (await get('/healthz', client)).code === 200);
    expect(await served(port)).toBe('two');
    expect(await get('/healthz')).toMatchObject({ code: 401 });
  });

  it('that cannot be read or used stop the start with the name of the flag or file', async () => {
    const missing = {
      type: 'files' as const,
      certFile: join(bed.directory, 'no.crt'),
      keyFile: join(bed.directory, 'no.key'),
    };
    await expect(start({ serving: missing })).rejects.toThrow(`--tls-cert-file ${missing.certFile}: ENOENT`);
    await expect(start({ clientCaFile: join(bed.directory, 'no-ca') })).rejects.toThrow('--client-ca-file');
    await writeFile(missing.certFile, 'x');
    await writeFile(missing.keyFile, 'y');
    await expect(start({ serving: missing })).rejects.toMatchObject({ name: 'UsageError' });
    await expect(start({ clientCaFile: missing.certFile })).rejects.toThrow(`cannot be used (${missing.certFile})`);
  });
});
