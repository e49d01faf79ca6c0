import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { afterEach, expect } from 'vitest';
import type { DialFacet } from '../../../providers/contract/index.ts';
import { makeContainer, POD_UID } from '../../testing/builders.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { Attempt } from '../handlers/attempt.ts';
import { Dialer } from '../handlers/dialing.ts';
import { type HttpGet, probeHttp } from '../handlers/http.ts';
import { LoopbackDial, listen, oneSecond } from './loopback.ts';

export const servers: (Server | TcpServer)[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) {
    if ('closeAllConnections' in server) server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

export async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  servers.push(server);
  return await listen(server);
}

/** A server that is none: it does with each connection what the test wants. */
export async function accept(onConnection: (socket: Socket) => void): Promise<number> {
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  servers.push(server);
  return await listen(server);
}

/** Sends these bytes to whoever asks, and ends. */
export function say(text: string | Buffer): Promise<number> {
  return accept((socket) => socket.once('data', () => socket.end(text)));
}

export function prober(dial: DialFacet = new LoopbackDial()) {
  const clock = new FakeClock();
  return {
    clock,
    ask: (get: HttpGet, container = makeContainer()): Promise<Attempt> =>
      probeHttp(
        get,
        { dialer: new Dialer(dial, POD_UID), container, podIP: '10.1.2.3', userAgent: 'kube-probe/1.36' },
        oneSecond(clock),
      ),
  };
}

export async function ask(get: HttpGet, dial = new LoopbackDial()): Promise<Attempt> {
  const attempt = await prober(dial).ask(get);
  expect(dial.allDestroyed, 'every connection of the probe is closed').toBe(true);
  return attempt;
}

export function failed(output: string): Attempt {
  return { type: 'failure', output };
}
