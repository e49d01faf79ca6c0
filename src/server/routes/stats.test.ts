import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { type StatsDeps, type StatsSource, statsRoutes } from './stats.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

class ScriptedSource implements StatsSource {
  readonly asked: boolean[] = [];
  failure: Error | undefined;

  summary(onlyCpuAndMemory: boolean): object {
    this.asked.push(onlyCpuAndMemory);
    if (this.failure !== undefined) throw this.failure;
    return { node: { nodeName: 'n' }, pods: [] };
  }

  resource(): string {
    return 'resource_scrape_error 0\n';
  }

  cadvisor(): string {
    return 'container_scrape_error 0\n';
  }
}

async function start(deps: Pick<StatsDeps, 'stats'>) {
  const app = express().use(statsRoutes({ ...deps, log: { warn: () => {} } }));
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Listening on a port, so it has one.
  const { port } = server.address() as AddressInfo;
  return async (path: string, init?: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    return { code: response.status, type: response.headers.get('content-type'), body: await response.text() };
  };
}

describe('/stats/summary', () => {
  it('is JSON, indented by one blank', async () => {
    const get = await start({ stats: new ScriptedSource() });
    expect(await get('/stats/summary')).toEqual({
      code: 200,
      type: 'application/json',
      body: '{\n "node": {\n  "nodeName": "n"\n },\n "pods": []\n}',
    });
  });

  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  it.each([
    ['', {}, false],
    ['?only_cpu_and_memory=true', {}, true],
    ['?only_cpu_and_memory=1', {}, false],
    ['?only_cpu_and_memory=true&only_cpu_and_memory=true', {}, false],
    ['?only_cpu_and_memory=true', { method: 'POST' }, true],
    ['', { method: 'POST', headers: form, body: 'only_cpu_and_memory=true' }, true],
    ['?only_cpu_and_memory=true', { method: 'POST', headers: form, body: 'only_cpu_and_memory=true' }, false],
  ])('%s %o is processors and memory only: %s', async (query, init, expected) => {
    const source = new ScriptedSource();
    const get = await start({ stats: source });
    expect((await get(`/stats/summary${query}`, init)).code).toBe(200);
    expect(source.asked).toEqual([expected]);
  });

  it('answers 500 with the reason when nothing is known, and 405 to other methods', async () => {
    const source = new ScriptedSource();
    source.failure = new Error('failed to list pod stats: engine away');
    const get = await start({ stats: source });
    expect(await get('/stats/summary')).toMatchObject({
      code: 500,
      body: 'Internal Error: failed to list pod stats: engine away',
    });
    expect((await get('/stats/summary', { method: 'PUT' })).code).toBe(405);
  });
});

describe('pages of metrics', () => {
  it.each([
    ['/metrics/resource', 'resource_scrape_error 0\n'],
    ['/metrics/cadvisor', 'container_scrape_error 0\n'],
  ])('%s is text, whatever else a scraper would accept', async (path, body) => {
    const get = await start({ stats: new ScriptedSource() });
    const accept = 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4';
    expect(await get(path, { headers: { accept } })).toEqual({
      code: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      body,
    });
    expect((await get(path, { method: 'POST' })).code).toBe(405);
  });

  it('are 501 where the backend cannot measure, like the summary', async () => {
    const get = await start({});
    for (const path of ['/stats/summary', '/metrics/resource', '/metrics/cadvisor'])
      expect(await get(path)).toMatchObject({ code: 501, body: 'the backend of this node cannot be measured\n' });
  });
});
