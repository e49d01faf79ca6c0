import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { makeObservedContainer, makeObservedPod, makePod, running } from '../../testing/builders.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type DebugDeps, debugRoutes } from './debug.ts';

interface Answer {
  readonly code: number | undefined;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

const servers: Server[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) server.close();
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});

async function start(overrides: Partial<DebugDeps> = {}) {
  const clock = new FakeClock();
  const app = express();
  app.use(
    debugRoutes({
      findPod: (namespace, name) => (namespace === 'ns' && name === 'p' ? makePod() : undefined),
      observedPods: () => [],
      kubeletConfiguration: () => ({}),
      profiling: true,
      flags: {},
      productVersion: '1.2.3',
      startedAtMs: clock.now() - 3_723_000,
      now: () => clock.now(),
      clock,
      signal: new AbortController().signal,
      ...overrides,
    }),
  );
  app.use((_request, response) => void response.status(404).end('none'));
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Listening on a port, not on a pipe.
  const { port } = server.address() as AddressInfo;
  const ask = (method: string, path: string, body?: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const request = httpRequest({ port, path, method, agent: false }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ code: response.statusCode, body: text, headers: response.headers }));
      });
      request.on('error', reject);
      request.end(body);
    });
  return { clock, ask, get: (path: string) => ask('GET', path) };
}

describe('/runningpods/', () => {
  it('names what runs on the backend, and nothing more of it', async () => {
    const up = makeObservedPod({ containers: [makeObservedContainer('c', running())] });
    const empty = makeObservedPod({ containers: [] });
    const over = makeObservedPod({ state: 'stopped', containers: [] });
    const { get, ask } = await start({ observedPods: () => [up, empty, over] });
    const { body, headers } = await get('/runningpods/');
    expect(headers['content-type']).toContain('application/json');
    const { pod, containers } = up;
    const metadata = { name: pod.name, namespace: pod.namespace, uid: pod.uid };
    expect(JSON.parse(body)).toEqual({
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: {},
      items: [
        { metadata, spec: { containers: [{ name: 'c', image: containers[0]?.image, resources: {} }] }, status: {} },
        { metadata, spec: { containers: null }, status: {} },
      ],
    });
    expect(await get('/runningpods?x=1')).toMatchObject({ code: 307, headers: { location: '/runningpods/?x=1' } });
    expect(await ask('POST', '/runningpods/')).toMatchObject({
      code: 405,
      body: '405: Method Not Allowed',
      headers: { allow: 'GET' },
    });
  });
});

it('/configz shows the configuration as the kubelet nests it', async () => {
  const { get } = await start({ kubeletConfiguration: () => ({ kind: 'KubeletConfiguration', port: 1 }) });
  expect(JSON.parse((await get('/configz')).body)).toEqual({
    kubeletconfig: { kind: 'KubeletConfiguration', port: 1 },
  });
});

describe('/checkpoint', () => {
  it.each([
    ['/checkpoint/ns/other/c', 404, 'pod does not exist'],
    ['/checkpoint/ns/p/d', 404, 'container d does not exist'],
    ['/checkpoint/ns/p/c?timeout=x', 404, 'cannot parse value of timeout parameter'],
    [
      '/checkpoint/ns/p/c?timeout=x&timeout=5',
      501,
      'checkpointing of ns/p/c failed (the backend of this node makes no checkpoints)',
    ],
  ])('%s: %i', async (path, code, body) => {
    const { ask } = await start();
    expect(await ask('POST', path)).toMatchObject({ code, body });
  });

  it('takes POST only', async () => {
    const { get } = await start();
    expect(await get('/checkpoint/ns/p/c')).toMatchObject({ code: 405, headers: { allow: 'POST' } });
  });
});

describe('/debug/flags/v', () => {
  it('changes the verbosity', async () => {
    const set: number[] = [];
    const { ask } = await start({ setVerbosity: (verbosity) => set.push(verbosity) });
    const answer = await ask('PUT', '/debug/flags/v', '5');
    expect(answer).toMatchObject({ code: 200, body: 'successfully set klog.logging.verbosity to 5\n' });
    expect(set).toEqual([5]);
  });

  it.each([
    ['PUT', 'x', 400, 'strconv.ParseUint: parsing "x": invalid syntax\n'],
    ['PUT', '-1', 400, 'strconv.ParseUint: parsing "-1": invalid syntax\n'],
    ['PUT', '99999999999', 400, 'strconv.ParseUint: parsing "99999999999": value out of range\n'],
    ['PUT', '1'.repeat(5000), 400, 'strconv.ParseUint: parsing "": invalid syntax\n'],
    ['POST', '5', 406, 'unsupported http method\n'],
  ])('%s of %.12s is refused with %i', async (method, sent, code, body) => {
    const { ask } = await start({ setVerbosity: () => expect.unreachable() });
    expect(await ask(method, '/debug/flags/v', sent)).toMatchObject({ code, body });
  });

  it('can be switched off', async () => {
    const { ask } = await start();
    expect(await ask('PUT', '/debug/flags/v', '5')).toMatchObject({ code: 405, body: 'flags endpoint is disabled.\n' });
  });
});

it('/flagz and /statusz tell what runs, and how it was started', async () => {
  const { get } = await start({ flags: { v: '4', 'node-ip': '10.0.0.1' } });
  const flagz = await get('/flagz');
  expect(flagz.body).toMatch(/^\nkubelet flagz\nWarning: /);
  expect(flagz.body).toContain('\nnode-ip=10.0.0.1\nv=4\n');
  const statusz = await get('/statusz');
  expect(statusz.body).toContain('\nUp: 1 hr 02 min 03 sec\n');
  expect(statusz.body).toContain('\nBinary version: 1.2.3\n');
  expect(await get('/flagz/x')).toMatchObject({ code: 404 });
});

describe('/debug/pprof/', () => {
  it('gives profiles for the developer tools, one at a time', async () => {
    const { get, clock } = await start();
    const first = get('/debug/pprof/profile?seconds=5');
    // The profiler begins in real time.
    await expect.poll(async () => (await get('/debug/pprof/heap')).code, { interval: 5 }).toBe(500);
    await clock.advance(5_000);
    const answer = await first;
    expect(answer.headers['content-disposition']).toContain('outrigger.cpuprofile');
    expect(JSON.parse(answer.body)).toMatchObject({ nodes: expect.any(Array), samples: expect.any(Array) });
    const heap = get('/debug/pprof/heap?seconds=1');
    await expect.poll(async () => (await get('/debug/pprof/profile')).code, { interval: 5 }).toBe(500);
    await clock.advance(1_000);
    expect(JSON.parse((await heap).body)).toMatchObject({ head: expect.any(Object) });
  });

  it('knows no others, and takes no time for ever', async () => {
    const { get } = await start();
    expect((await get('/debug/pprof/')).body).toContain('/debug/pprof/heap');
    expect(await get('/debug/pprof')).toMatchObject({ code: 307 });
    expect(await get('/debug/pprof/goroutine')).toMatchObject({ code: 404, body: 'Unknown profile\n' });
    expect(await get('/debug/pprof/toString')).toMatchObject({ code: 404 });
    expect(await get('/debug/pprof/profile?seconds=301')).toMatchObject({ code: 400 });
  });

  it('can be switched off', async () => {
    const { get } = await start({ profiling: false });
    for (const path of ['/debug/pprof/', '/debug/pprof/profile', '/debug/pprof'])
      expect(await get(path)).toMatchObject({ code: 405, body: 'profiling endpoint is disabled.\n' });
  });
});

describe('/logs/', () => {
  async function logs() {
    const outside = await mkdtemp(join(tmpdir(), 'outrigger-logs-'));
    folders.push(outside);
    const folder = join(outside, 'log');
    await mkdir(join(folder, 'sub'), { recursive: true });
    await writeFile(join(outside, 'secret'), 'secret');
    await writeFile(join(folder, 'syslog'), 'line 1\nline 2\n');
    await writeFile(join(folder, 'page.html'), '<script>');
    await writeFile(join(folder, 'a&b#.log'), 'odd');
    await writeFile(join(folder, 'sub', 'deep'), 'deep');
    await symlink(join(outside, 'secret'), join(folder, 'out'));
    await symlink(outside, join(folder, 'outdir'));
    await symlink('syslog', join(folder, 'in'));
    return start({ systemLogDir: folder });
  }

  it('is off by default', async () => {
    const { get } = await start();
    for (const path of ['/logs/', '/logs', '/logs/syslog'])
      expect(await get(path)).toMatchObject({ code: 405, body: 'logs endpoint is disabled.\n' });
  });

  it('lists folders and shows files, as Go does', async () => {
    const { get, ask } = await logs();
    expect((await get('/logs/')).body).toBe(
      `<!doctype html>
<meta name="viewport" content="width=device-width">
<pre>
<a href="a&b%23.log">a&amp;b#.log</a>
<a href="in">in</a>
<a href="out">out</a>
<a href="outdir">outdir</a>
<a href="page.html">page.html</a>
<a href="sub/">sub/</a>
<a href="syslog">syslog</a>
</pre>
`,
    );
    expect(await get('/logs/syslog')).toMatchObject({ code: 200, body: 'line 1\nline 2\n' });
    expect(await get('/logs/a&b%23.log')).toMatchObject({ code: 200, body: 'odd' });
    expect(await get('/logs/sub/deep')).toMatchObject({ code: 200, body: 'deep' });
    expect(await get('/logs/in')).toMatchObject({ code: 200, body: 'line 1\nline 2\n' });
    expect(await get('/logs')).toMatchObject({ code: 307, headers: { location: '/logs/' } });
    expect(await get('/logs/sub')).toMatchObject({ code: 301, headers: { location: 'sub/' } });
    expect(await get('/logs/none')).toMatchObject({ code: 404, body: '404 page not found\n' });
    expect(await get('/logs/syslog/x')).toMatchObject({ code: 404 });
    expect(await ask('POST', '/logs/syslog')).toMatchObject({ code: 405, headers: { allow: 'GET' } });
  });

  it('makes a page of nothing that it shows', async () => {
    const { get } = await logs();
    const { headers } = await get('/logs/page.html');
    expect(headers).toMatchObject({ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' });
  });

  it.each([
    '/logs/out',
    '/logs/outdir/',
    '/logs/outdir/secret',
    '/logs/../secret',
    '/logs/..%2fsecret',
    '/logs/%2e%2e/secret',
    '/logs/sub/..%2f..%2fsecret',
    '/logs/%2fetc/passwd',
    '/logs/a%00',
  ])('%s leads nowhere', async (path) => {
    const { get } = await logs();
    expect(await get(path)).toMatchObject({ code: 404 });
  });

  it('answers no query of a journal', async () => {
    const { get } = await logs();
    expect(await get('/logs/?query=kubelet')).toMatchObject({ code: 404 });
  });
});
