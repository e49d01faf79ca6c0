import { afterEach, describe, expect, it } from 'vitest';
import { makePod } from '../testing/builders.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { silentLog } from '../testing/silent-log.ts';
import { ReadOnlyServer } from './read-only-server.ts';

let server: ReadOnlyServer | undefined;

afterEach(async () => {
  await server?.stop();
  server = undefined;
});

async function start(): Promise<(path: string, method?: string) => Promise<{ code: number; body: string }>> {
  server = new ReadOnlyServer({
    address: '127.0.0.1',
    port: 0,
    pods: () => [makePod()],
    findPod: () => makePod(),
    status: () => undefined,
    observed: { get: () => undefined },
    checks: [],
    metrics: { main: async () => 'main', probing: async () => '', slis: async () => '' },
    http: { began: () => () => {} },
    clock: new FakeClock(),
    log: silentLog(),
  });
  const { port } = await server.start();
  return async (path, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return { code: response.status, body: await response.text() };
  };
}

describe('the read-only port (reference 11.1)', () => {
  it('shows pods, health and metrics to everybody', async () => {
    const ask = await start();
    expect(await ask('/healthz')).toEqual({ code: 200, body: 'ok' });
    expect((await ask('/pods')).body).toContain('"kind":"PodList"');
    expect(await ask('/metrics')).toMatchObject({ code: 200 });
  });

  it.each([
    ['/exec/ns/p/c?output=1&command=id', 'POST'],
    ['/attach/ns/p/c', 'POST'],
    ['/portForward/ns/p', 'POST'],
    ['/run/ns/p/c?cmd=id', 'POST'],
    ['/containerLogs/ns/p/c', 'GET'],
    ['/runningpods/', 'GET'],
    ['/debug/pprof/profile', 'GET'],
    ['/logs/', 'GET'],
  ])('%s is switched off', async (path, method) => {
    const ask = await start();
    expect(await ask(path, method)).toEqual({ code: 405, body: 'Debug endpoints are disabled.\n' });
  });

  it.each(['/configz', '/checkpoint/ns/p/c', '/flagz', '/statusz', '/debug/flags/v'])(
    '%s is not there',
    async (path) => {
      const ask = await start();
      expect(await ask(path, 'GET')).toMatchObject({ code: 404 });
      expect(await ask(path, 'POST')).toMatchObject({ code: 404 });
    },
  );
});
