import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { expect, it } from 'vitest';
import { makeContainer, POD_UID } from '../../testing/builders.ts';
import { makeAuthority } from '../../testing/certificates.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { listen, oneSecond, TunnelDial } from '../testing/loopback.ts';
import { Dialer } from './dialing.ts';
import { probeGrpc } from './grpc.ts';
import { probeHttp } from './http.ts';

/** A provider's stream need not be a socket (an SSH channel, a relay): Node's protocols take another way inside then. */

function http(dial: TunnelDial, port: number, scheme: string, clock = new FakeClock()) {
  const dialer = new Dialer(dial, POD_UID);
  const target = { dialer, container: makeContainer(), podIP: '10.1.2.3', userAgent: 'kube-probe/1.36' };
  return probeHttp({ port, path: '/', scheme }, target, oneSecond(clock));
}

function closed(dial: TunnelDial): boolean {
  return dial.allDestroyed && dial.tunnels.every(({ destroyed }) => destroyed);
}

it('HTTP', async () => {
  const server = createServer((_, response) => response.writeHead(503).end('x'));
  const port = await listen(server);
  const dial = new TunnelDial();
  expect(await http(dial, port, 'HTTP')).toEqual({
    type: 'failure',
    output: 'HTTP probe failed with statuscode: 503',
  });
  await expect.poll(() => closed(dial)).toBe(true);
  server.close();
});

it('HTTPS, and HTTPS to a server without it', async () => {
  const authority = await makeAuthority('nobody');
  const server = createTlsServer(await authority.issue({ commonName: 'x', usage: 'server' }));
  server.on('request', (_, response) => response.end());
  const plain = createServer();
  const dial = new TunnelDial();
  expect(await http(dial, await listen(server), 'HTTPS')).toEqual({ type: 'success' });
  const port = await listen(plain);
  expect(await http(dial, port, 'HTTPS')).toEqual({
    type: 'failure',
    output: `Get "https://10.1.2.3:${port}/": http: server gave HTTP response to HTTPS client`,
  });
  await expect.poll(() => closed(dial)).toBe(true);
  server.close();
  plain.close();
});

it.each([
  ['SERVING', 1],
  ['an end in the call', undefined],
])('gRPC: %s', async (_, status) => {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.on('error', () => undefined);
    if (status === undefined) {
      stream.session?.destroy();
      return;
    }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'grpc-status': '0' });
      // Whoever has answered may hang up at once.
      stream.session?.close();
    });
    stream.end(Buffer.from([0, 0, 0, 0, 2, 8, status]));
  });
  const port = await listen(server);
  const dial = new TunnelDial();
  const clock = new FakeClock();
  const target = { dialer: new Dialer(dial, POD_UID), podIP: '10.1.2.3', port, service: '', userAgent: 'x' };
  const lost = 'error: health rpc probe failed: rpc error: code = Unavailable desc = error reading from server: EOF';
  expect(await probeGrpc({ ...target, clock, random: () => 0 }, oneSecond(clock))).toEqual(
    status === undefined ? { type: 'failure', output: lost } : { type: 'success' },
  );
  await expect.poll(() => closed(dial)).toBe(true);
  server.close();
});
