import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer as createTcpServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type DialFacet, ProviderError } from '../../../providers/contract/index.ts';
import { POD_UID } from '../../testing/builders.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { LoopbackDial, listen, oneSecond } from '../testing/loopback.ts';
import type { Attempt } from './attempt.ts';
import { Dialer } from './dialing.ts';
import { probeGrpc } from './grpc.ts';
import { decodeResponse, encodeRequest } from './grpc-wire.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function serve(onCall: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void): Promise<number> {
  const server: Http2Server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session));
  server.on('sessionError', () => undefined);
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    onCall(stream, headers);
  });
  ends.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return await listen(server);
}

async function accept(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return await listen(server);
}

const frame = (...bytes: readonly number[]): Buffer => Buffer.from([0, 0, 0, 0, bytes.length, ...bytes]);
const OK = { ':status': 200, 'content-type': 'application/grpc' };

/** Answers with these bytes and `grpc-status: 0`, unless the trailers say otherwise. */
function reply(
  stream: ServerHttp2Stream,
  data: Buffer,
  trailers: Record<string, string> = { 'grpc-status': '0' },
): void {
  stream.respond(OK, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.end(data);
}

function prober(port: number, service = '', dial: DialFacet = new LoopbackDial()) {
  const clock = new FakeClock();
  const target = { dialer: new Dialer(dial, POD_UID), podIP: '10.1.2.3', port, service, userAgent: 'kube-probe/1.36' };
  const asked = probeGrpc({ ...target, clock, random: () => 0 }, oneSecond(clock));
  return { clock, asked };
}

async function ask(port: number, service = ''): Promise<Attempt> {
  const dial = new LoopbackDial();
  const attempt = await prober(port, service, dial).asked;
  await expect.poll(() => dial.allDestroyed).toBe(true);
  return attempt;
}

function failed(output: string): Attempt {
  return { type: 'failure', output };
}

describe('the answer decides (kubelet: pkg/probe/grpc)', () => {
  it('SERVING is success; the call looks like that of the kubelet', async () => {
    const calls: IncomingHttpHeaders[] = [];
    const bodies: Buffer[] = [];
    const port = await serve((stream, headers) => {
      calls.push(headers);
      stream.on('data', (chunk: Buffer) => bodies.push(chunk));
      reply(stream, frame(8, 1));
    });
    expect(await ask(port, 'my-service')).toEqual({ type: 'success' });
    expect(calls[0]).toMatchObject({
      ':method': 'POST',
      ':scheme': 'http',
      ':authority': `10.1.2.3:${port}`,
      ':path': '/grpc.health.v1.Health/Check',
      'content-type': 'application/grpc',
      'user-agent': 'kube-probe/1.36',
      te: 'trailers',
    });
    expect(Buffer.concat(bodies)).toEqual(frame(0x0a, 10, ...Buffer.from('my-service')));
  });

  it.each([
    [2, 'NOT_SERVING'],
    [3, 'SERVICE_UNKNOWN'],
    [9, '9'],
  ])('status %i is %s', async (status, name) => {
    const port = await serve((stream) => reply(stream, frame(8, status)));
    expect(await ask(port)).toEqual(failed(`service unhealthy (responded with "${name}")`));
  });

  it('an empty message is UNKNOWN', async () => {
    const port = await serve((stream) => reply(stream, frame()));
    expect(await ask(port)).toEqual(failed('service unhealthy (responded with "UNKNOWN")'));
  });

  it('a service that it does not know', async () => {
    const trailers = { 'grpc-status': '5', 'grpc-message': 'unknown service' };
    const port = await serve((stream) => stream.respond({ ...OK, ...trailers }, { endStream: true }));
    expect(await ask(port, 'x')).toEqual(
      failed('error: health rpc probe failed: rpc error: code = NotFound desc = unknown service'),
    );
  });

  it('a server without the health protocol', async () => {
    const trailers = { 'grpc-status': '12', 'grpc-message': 'unknown service grpc.health.v1.Health %C3%BC' };
    const port = await serve((stream) => reply(stream, Buffer.alloc(0), trailers));
    expect(await ask(port)).toEqual(
      failed(
        'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unknown service grpc.health.v1.Health ü',
      ),
    );
  });

  it('a server that speaks HTTP/2 only', async () => {
    const port = await serve((stream) => {
      stream.respond({ ':status': 404, 'content-type': 'text/plain' });
      stream.end('not here');
    });
    expect(await ask(port)).toEqual(
      failed(
        'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unexpected HTTP status code received from server: 404 (Not Found); transport: received unexpected content-type "text/plain"',
      ),
    );
  });

  it('no message, a cut one, one that is none, a compressed one', async () => {
    const text = (desc: string): Attempt =>
      failed(`error: health rpc probe failed: rpc error: code = Internal desc = ${desc}`);
    for (const [data, desc] of [
      [Buffer.alloc(0), 'cardinality violation: received no response message from non-server-streaming RPC'],
      [Buffer.from([0, 0, 0, 0, 9, 8]), 'unexpected EOF'],
      [frame(0xff), 'grpc: error unmarshalling request: proto: cannot parse invalid wire-format data'],
      [Buffer.from([1, 0, 0, 0, 0]), 'grpc: compressed flag set with identity or empty encoding'],
    ] as const) {
      const port = await serve((stream) => reply(stream, data));
      expect(await ask(port)).toEqual(text(desc));
    }
  });

  it('a stream that the server resets', async () => {
    const port = await serve((stream) => stream.close(7));
    expect(await ask(port)).toEqual(
      failed(
        'error: health rpc probe failed: rpc error: code = Unavailable desc = stream terminated by RST_STREAM with error code: REFUSED_STREAM',
      ),
    );
  });

  it('a connection that ends in the call', async () => {
    const port = await serve((stream) => stream.session?.destroy());
    expect(await ask(port)).toEqual(
      failed('error: health rpc probe failed: rpc error: code = Unavailable desc = error reading from server: EOF'),
    );
  });

  it('a message without end is cut off', async () => {
    const port = await serve((stream) => {
      stream.respond(OK);
      const pump = (): void => {
        while (!stream.destroyed && stream.write(Buffer.alloc(16_384)));
      };
      stream.on('drain', pump);
      pump();
    });
    const { output } = (await ask(port)) as { output: string };
    expect(output).toMatch(
      /code = ResourceExhausted desc = grpc: received message larger than max \(\d+ vs\. 65536\)$/,
    );
  });
});

describe('no connection within the time', () => {
  const late = (port: number): Attempt =>
    failed(`timeout: failed to connect service "10.1.2.3:${port}" within 1s: context deadline exceeded`);

  it('a port that refuses is tried until the time is over', async () => {
    const port = await serve(() => undefined);
    for (const end of ends.splice(0)) end();
    const dial = new LoopbackDial();
    const { clock, asked } = prober(port, '', dial);
    await expect.poll(() => dial.streams[0]?.destroyed).toBe(true);
    await clock.advance(1_000);
    expect(await asked).toEqual(late(port));
  });

  it.each([
    ['is silent', (): void => undefined],
    ['speaks HTTP/1', (socket: Socket): void => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['hangs up', (socket: Socket): void => void socket.destroy()],
  ])('a server that %s', async (_, act) => {
    const connected = Promise.withResolvers<void>();
    const port = await accept((socket) => {
      act(socket);
      connected.resolve();
    });
    const dial = new LoopbackDial();
    const { clock, asked } = prober(port, '', dial);
    await connected.promise;
    await clock.advance(1_000);
    expect(await asked).toEqual(late(port));
    await expect.poll(() => dial.allDestroyed).toBe(true);
  });

  it('a call that is not answered in time', async () => {
    const called = Promise.withResolvers<void>();
    const port = await serve(() => called.resolve());
    const dial = new LoopbackDial();
    const { clock, asked } = prober(port, '', dial);
    await called.promise;
    await clock.advance(1_000);
    expect(await asked).toEqual(failed('timeout: health rpc did not complete within 1s'));
    await expect.poll(() => dial.allDestroyed).toBe(true);
  });

  it('a provider that cannot dial blames nobody, and is not asked again', async () => {
    const error = new ProviderError('Internal', 'no descriptors left');
    expect(await prober(80, '', { dial: () => Promise.reject(error) }).asked).toEqual({
      type: 'errored',
      state: 'unknown',
      message: 'no descriptors left',
    });
  });

  it('a backend that is away says nothing, before and in the call', async () => {
    const error = new ProviderError('Unavailable', 'gone');
    expect(await prober(80, '', { dial: () => Promise.reject(error) }).asked).toEqual({ type: 'away', error });
    const dial = new LoopbackDial();
    const port = await serve(() => dial.streams[0]?.destroy(error));
    expect(await prober(port, '', dial).asked).toEqual({ type: 'away', error });
  });
});

describe('bytes', () => {
  it('of a long name carry its length', () => {
    const name = 'x'.repeat(300);
    expect(encodeRequest(name).subarray(0, 8)).toEqual(Buffer.from([0, 0, 0, 1, 47, 0x0a, 0xac, 0x02]));
  });

  it('of an answer may have fields that nobody knows', () => {
    const data = frame(0x12, 2, 65, 66, 0x19, 1, 2, 3, 4, 5, 6, 7, 8, 0x08, 1, 0x25, 1, 2, 3, 4);
    expect(decodeResponse(data)).toEqual({ type: 'status', status: 1 });
  });

  it('whatever a server sends is an answer or none', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(['status', 'bad']).toContain(decodeResponse(Buffer.from(bytes)).type);
        expect(['status', 'bad']).toContain(decodeResponse(frame(...bytes)).type);
      }),
    );
  });
});
