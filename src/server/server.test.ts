import { connect as connectTcp } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeObservedPod, makePod } from '../testing/builders.ts';
import { handshake, ServerBed } from './testing/server-bed.ts';

let bed: ServerBed;

beforeAll(async () => {
  bed = await ServerBed.make();
});
beforeEach(() => bed.begin());
afterEach(() => bed.end());

const start: ServerBed['start'] = (...args) => bed.start(...args);

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
    expect(await get('/pods', { ...bed.admin, method: 'POST' })).toMatchObject({
      code: 405,
      headers: { allow: 'GET' },
    });
    expect(await get('/containerLogs/ns/p/%zz')).toMatchObject({ code: 400 });
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
    const answer = get('/healthz', { ...bed.admin, headers }).then(({ code }) => code);
    // The connection is cut while the client still writes.
    expect([431, undefined]).toContain(await answer.catch(() => undefined));
    expect(await get('/healthz', { ...bed.admin, headers: { 'x-long': 'x'.repeat(500_000) } })).toMatchObject({
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
    const known = await upgrade(port, bed.admin);
    expect(known.answer).toMatch(/^HTTP\/1\.1 404 Not Found\r\n[\s\S]*\r\n\r\npod does not exist$/);
  });

  it('end with the server, though the client says nothing', async () => {
    const dial = { dial: () => Promise.reject(new Error('nobody asked')) };
    const observed = { get: () => ({ pod: makeObservedPod(), at: 1 }) };
    const { server, port } = await start({ dial, observed, findPod: () => makePod() });
    const { socket, answer } = await upgrade(port, bed.admin);
    expect(answer).toMatch(/^HTTP\/1\.1 101 /);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await server.stop();
    await closed;
  });

  // curl asks for h2c by itself; the kubelet ignores that.
  it('of another kind are answered as if they had not asked', async () => {
    const { get } = await start();
    const headers = { Connection: 'Upgrade', Upgrade: 'h2c' };
    expect(await get('/healthz', { ...bed.admin, headers })).toMatchObject({ code: 200, body: 'ok' });
  });
});
