import { afterEach, expect, it } from 'vitest';
import type { HealthCheck } from './health.ts';
import { HealthzServer } from './healthz-server.ts';

let server: HealthzServer | undefined;

afterEach(() => server?.stop());

async function start(checks: readonly HealthCheck[], port = 0): Promise<string> {
  server = new HealthzServer({ address: '127.0.0.1', port, checks, log: { warn: () => {} } });
  return `http://127.0.0.1:${(await server.start()).port}`;
}

async function get(url: string): Promise<[number, string]> {
  const response = await fetch(url);
  return [response.status, await response.text()];
}

it('answers /healthz over plain HTTP, to everybody, and nothing else', async () => {
  const base = await start([]);
  expect(await get(`${base}/healthz`)).toEqual([200, 'ok']);
  expect(await get(`${base}/pods`)).toEqual([404, '404 page not found\n']);
});

it('is 500 while a check fails', async () => {
  let problem: string | undefined = 'behind';
  const base = await start([{ name: 'syncloop', check: () => problem }]);
  expect(await get(`${base}/healthz`)).toEqual([500, '[-]syncloop failed: reason withheld\nhealthz check failed\n']);
  problem = undefined;
  expect(await get(`${base}/healthz?exclude=nothing&verbose`)).toEqual([
    200,
    '[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for "nothing"\nhealthz check passed\n',
  ]);
});

it('names the flag when the port is taken', async () => {
  const base = await start([]);
  const first = server;
  await expect(start([], Number(new URL(base).port))).rejects.toThrow('--healthz-port 127.0.0.1');
  await first?.stop();
});
