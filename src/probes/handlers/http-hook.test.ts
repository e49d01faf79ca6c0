import { expect, it } from 'vitest';
import { makeContainer, POD_UID } from '../../testing/builders.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { accept } from '../testing/http-servers.ts';
import { LoopbackDial, oneSecond } from '../testing/loopback.ts';
import { Dialer } from './dialing.ts';
import { type HttpGet, probeHttp } from './http.ts';
import { requestOnce } from './http-hook.ts';

const target = {
  dialer: new Dialer(new LoopbackDial(), POD_UID),
  container: makeContainer(),
  podIP: '10.1.2.3',
  userAgent: 'kube-lifecycle/1.36',
};
const get: Omit<HttpGet, 'port'> = {
  path: '/hook?x=1',
  httpHeaders: [
    { name: 'x-mine', value: 'a' },
    { name: 'X-Mine', value: 'b' },
  ],
};

async function asked(ask: (port: number) => Promise<unknown>): Promise<string[]> {
  let request = '';
  const port = await accept((socket) =>
    socket.once('data', (data) => {
      request = data.toString('latin1');
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    }),
  );
  await ask(port);
  return request.replaceAll(String(port), '<port>').trimEnd().split('\r\n');
}

// As recorded of the kubelet.
it('a hook sends the headers of its own client, in the order of Go', async () => {
  const { signal } = new AbortController();
  expect(await asked((port) => requestOnce({ ...get, port }, { ...target, asks: 'hook' }, signal))).toEqual([
    'GET /hook?x=1 HTTP/1.1',
    'Host: 10.1.2.3:<port>',
    'User-Agent: kube-lifecycle/1.36',
    'Accept: */*',
    'X-Mine: a',
    'X-Mine: b',
    'Accept-Encoding: gzip',
  ]);
});

it('a probe asks for an end of its connection instead', async () => {
  const deadline = oneSecond(new FakeClock());
  const lines = await asked((port) => probeHttp({ ...get, port }, target, deadline));
  expect(lines.slice(3)).toEqual(['Accept: */*', 'X-Mine: a', 'X-Mine: b', 'Connection: close']);
});
