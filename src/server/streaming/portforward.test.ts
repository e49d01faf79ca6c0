import { type Duplex, duplexPair } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { POD_UID } from '../../testing/builders.ts';
import { ClientFrames, serverFrames } from './spdy/testing/client-frames.ts';
import { StreamBed, until } from './testing/bed.ts';
import { SpdyClient } from './testing/spdy-client.ts';
import { BINARY, CLOSE, TEXT, WebSocketClient } from './testing/ws-client.ts';
import type { StreamServerOptions } from './upgrade.ts';

const beds: StreamBed[] = [];

afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.close();
});

async function setup(overrides: Partial<StreamServerOptions> = {}): Promise<StreamBed> {
  const bed = await StreamBed.open(overrides);
  beds.push(bed);
  return bed;
}

const REFUSED =
  `error forwarding port 81 to pod p, uid ${POD_UID}: ` +
  `failed to connect to localhost:81 inside namespace "${POD_UID}": dial tcp 127.0.0.1:81: connect: connection refused`;

/** Collects what the pod's side gets. */
function serve(bed: StreamBed, port: number): { connections: Duplex[]; text: string; ended: number } {
  const seen = { connections: [] as Duplex[], text: '', ended: 0 };
  bed.dial.servers.set(port, (connection) => {
    seen.connections.push(connection);
    connection.on('data', (chunk: Buffer) => {
      seen.text += chunk.toString('latin1');
    });
    connection.on('end', () => seen.ended++);
    connection.on('error', () => {});
  });
  return seen;
}

async function overSpdy(bed: StreamBed): Promise<SpdyClient> {
  return SpdyClient.open(bed.port, '/portForward/ns/p', 'portforward.k8s.io');
}

/** Error stream `id`, data stream `id + 2`, the first half-closed at once, as kubectl does. */
function openPair(client: SpdyClient, id: number, port: number, requestId?: string): void {
  const headers = { port: String(port), ...(requestId !== undefined && { requestID: requestId }) };
  client.raw.send(
    client.frames.synStream(id, { streamType: 'error', ...headers }),
    client.frames.fin(id),
    client.frames.synStream(id + 2, { streamType: 'data', ...headers }),
  );
}

describe('port-forward over SPDY', () => {
  it('dials the loopback of the pod once per pair, and copies both ways', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await overSpdy(bed);
    openPair(client, 1, 80, '0');
    openPair(client, 5, 80, '1');
    await until(() => seen.connections.length === 2);
    expect(bed.dial.dialled).toEqual([
      { to: 'loopback', port: 80 },
      { to: 'loopback', port: 80 },
    ]);
    client.raw.send(client.frames.data(3, 'first'), client.frames.data(7, 'second'));
    await until(() => seen.text === 'firstsecond');
    seen.connections[1]?.write('answer');
    await until(() => client.text(7) === 'answer');
    expect(bed.seen).toEqual(['portForward spdy portforward.k8s.io']);
  });

  it('pairs by number where there is no request id', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await overSpdy(bed);
    openPair(client, 1, 80);
    openPair(client, 5, 80);
    await until(() => seen.connections.length === 2);
  });

  it('hands on the end of the client, and the answer still arrives', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await overSpdy(bed);
    openPair(client, 1, 80, '0');
    client.raw.send(client.frames.data(3, 'count me'), client.frames.fin(3));
    await until(() => seen.ended === 1);
    seen.connections[0]?.end('8');
    await until(() => client.story.includes('fin 1'));
    expect(client.text(3)).toBe('8');
    expect(client.story).not.toContain('rst 3');
    expect(client.text(1)).toBe('');
  });

  it('hands on the end of the pod, and the rest of the client still arrives', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await overSpdy(bed);
    openPair(client, 1, 80, '0');
    await until(() => seen.connections.length === 1);
    seen.connections[0]?.end('bye');
    await until(() => client.story.includes('fin 3') && client.story.includes('fin 1'));
    client.raw.send(client.frames.data(3, 'late'), client.frames.fin(3));
    await until(() => seen.text === 'late' && seen.ended === 1);
  });

  it('tells on the error stream why a port cannot be reached, and resets the data', async () => {
    const bed = await setup();
    const client = await overSpdy(bed);
    openPair(client, 1, 81, '0');
    await until(() => client.answers(3).includes('rst'));
    expect(client.text(1)).toBe(REFUSED);
    expect(client.story.indexOf('fin 1')).toBeLessThan(client.story.indexOf('rst 3'));
    // The others live on.
    const seen = serve(bed, 80);
    openPair(client, 5, 80, '1');
    await until(() => seen.connections.length === 1);
  });

  it('tells of a connection that the pod has reset', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const dial = bed.dial.dial.bind(bed.dial);
    const dialled: Duplex[] = [];
    bed.dial.dial = async (...call) => {
      const connection = await dial(...call);
      dialled.push(connection);
      return connection;
    };
    const client = await overSpdy(bed);
    openPair(client, 1, 80, '0');
    await until(() => seen.connections.length === 1);
    dialled[0]?.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    await until(() => client.answers(3).includes('rst'));
    expect(client.text(1)).toBe(`error forwarding port 80 to pod p, uid ${POD_UID}: read: connection reset by peer`);
  });

  it('cuts the connection to the pod when the client resets, or is gone', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await overSpdy(bed);
    openPair(client, 1, 80, '0');
    openPair(client, 5, 80, '1');
    await until(() => seen.connections.length === 2);
    client.raw.send(client.frames.rst(3));
    await until(() => seen.connections[0]?.closed === true || seen.ended === 1);
    client.raw.socket.destroy();
    await until(() => bed.streams.size === 0 && (seen.connections[1]?.closed === true || seen.ended === 2));
  });

  it('answers a client that has finished, and closes', async () => {
    const bed = await setup();
    const client = await overSpdy(bed);
    client.raw.send(client.frames.goAway());
    await until(() => client.story.includes('goAway'));
    client.raw.socket.end();
    await until(() => bed.streams.size === 0);
  });

  it.each([
    [{ streamType: 'data', port: '0' }],
    [{ streamType: 'data', port: '70000' }],
    [{ streamType: 'data', port: 'http' }],
    [{ streamType: 'data' }],
    [{ streamType: 'other', port: '80' }],
    [{ port: '80' }],
  ])('resets a stream with %j', async (headers: Record<string, string>) => {
    const bed = await setup();
    const client = await overSpdy(bed);
    client.raw.send(client.frames.synStream(1, headers));
    await until(() => client.answers(1).length > 0);
    expect(client.answers(1)).toEqual(['rst']);
  });

  it('waits 30 s for the other stream of a pair', async () => {
    const bed = await setup();
    const client = await overSpdy(bed);
    client.raw.send(
      client.frames.synStream(1, { streamType: 'error', port: '80', requestID: '7' }),
      client.frames.synStream(3, { streamType: 'data', port: '80', requestID: '8' }),
    );
    await until(() => client.answers(3).length === 1);
    await bed.clock.advance(30_000);
    await until(() => client.answers(3).includes('rst') && client.story.includes('fin 1'));
    expect(client.text(1)).toBe('(request=7) timed out waiting for streams');
  });

  it('refuses a second stream of the same kind for a request', async () => {
    const bed = await setup();
    const client = await overSpdy(bed);
    const headers = { streamType: 'error', port: '80', requestID: '7' };
    client.raw.send(client.frames.synStream(1, headers), client.frames.synStream(3, headers));
    await until(() => client.answers(3).length > 0);
    expect(client.answers(3)).toEqual(['rst']);
    await until(() => client.text(1) === 'error processing stream for request 7: error stream already assigned');
  });

  it('forwards 500 connections at the same time', async () => {
    const bed = await setup();
    bed.dial.servers.set(80, (connection) => connection.pipe(connection));
    const client = await overSpdy(bed);
    for (let index = 0; index < 500; index++) {
      openPair(client, 4 * index + 1, 80, String(index));
      client.raw.send(client.frames.data(4 * index + 3, `echo ${index}`), client.frames.fin(4 * index + 3));
    }
    await until(() => client.raw.bytes.includes('echo 499'));
    await until(() => client.story.filter((event) => event.startsWith('fin')).length === 1_000);
    expect([0, 250, 499].map((index) => client.text(4 * index + 3))).toEqual(['echo 0', 'echo 250', 'echo 499']);
  });
});

describe('port-forward in a tunnel', () => {
  it('is SPDY in binary messages cut anywhere, under its own name', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await WebSocketClient.open(bed.port, '/portForward/ns/p', 'SPDY/3.1+portforward.k8s.io');
    expect(client.subprotocol).toBe('SPDY/3.1+portforward.k8s.io');
    expect(bed.seen).toEqual(['portForward websocket SPDY/3.1+portforward.k8s.io']);
    const frames = new ClientFrames();
    const bytes = Buffer.concat([
      frames.synStream(1, { streamType: 'error', port: '80', requestID: '0' }),
      frames.fin(1),
      frames.synStream(3, { streamType: 'data', port: '80', requestID: '0' }),
      frames.data(3, 'hello', { fin: true }),
    ]);
    for (const byte of bytes) client.send(BINARY, [byte]);
    await until(() => seen.ended === 1);
    expect(seen.text).toBe('hello');
    seen.connections[0]?.end('bye');
    let received = Buffer.alloc(0);
    const ended = () => serverFrames(received).filter((frame) => frame.type === 'data' && frame.fin).length === 2;
    while (!ended()) received = Buffer.concat([received, (await client.receive()).payload]);
    client.send(BINARY, frames.goAway());
    expect((await client.rest()).at(-1)).toEqual([CLOSE, 1000]);
    await until(() => bed.streams.size === 0);
  });

  it('takes no texts', async () => {
    const bed = await setup();
    const client = await WebSocketClient.open(bed.port, '/portForward/ns/p', 'SPDY/3.1+portforward.k8s.io');
    client.send(TEXT, 'hello');
    expect((await client.rest()).at(-1)).toEqual([CLOSE, 1003]);
    await until(() => bed.streams.size === 0);
  });

  it('frees everything when the client is gone', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await WebSocketClient.open(bed.port, '/portForward/ns/p', 'SPDY/3.1+portforward.k8s.io');
    const frames = new ClientFrames();
    client.send(BINARY, frames.synStream(1, { streamType: 'error', port: '80', requestID: '0' }));
    client.send(BINARY, frames.synStream(3, { streamType: 'data', port: '80', requestID: '0' }));
    await until(() => seen.connections.length === 1);
    client.raw.socket.destroy();
    await until(() => bed.streams.size === 0 && (seen.ended === 1 || seen.connections[0]?.closed === true));
  });
});

describe.each([
  ['v4.channel.k8s.io', false],
  ['v4.base64.channel.k8s.io', true],
  [undefined, false],
])('port-forward by channels of %s', (protocol, base64) => {
  const opcode = base64 ? TEXT : BINARY;
  const message = (channel: number, data: string): string =>
    base64 ? `${channel}${Buffer.from(data, 'latin1').toString('base64')}` : String.fromCharCode(channel) + data;

  it('says the port on both channels of each, and carries data and errors', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await WebSocketClient.open(bed.port, '/portForward/ns/p?port=80,81', protocol);
    expect(client.subprotocol).toBe(protocol);
    const greetings = [];
    for (let count = 0; count < 5; count++) {
      const { payload } = await client.receive();
      greetings.push(payload.toString('latin1'));
    }
    expect(greetings.sort()).toEqual(
      [message(0, 'P\0'), message(1, 'P\0'), message(2, 'Q\0'), message(3, 'Q\0'), message(3, REFUSED)].sort(),
    );
    client.send(opcode, message(0, 'hello'));
    client.send(opcode, message(2, 'nobody there'));
    client.send(opcode, message(9, 'no such channel'));
    await until(() => seen.text === 'hello');
    seen.connections[0]?.end('bye');
    expect(await client.rest()).toEqual([
      [opcode, message(0, 'bye')],
      [CLOSE, 1000],
    ]);
  });

  it('cuts the connections to the pod when the client is gone', async () => {
    const bed = await setup();
    const seen = serve(bed, 80);
    const client = await WebSocketClient.open(bed.port, '/portForward/ns/p?port=80', protocol);
    await until(() => seen.connections.length === 1);
    client.raw.socket.destroy();
    await until(() => bed.streams.size === 0 && (seen.ended === 1 || seen.connections[0]?.closed === true));
  });

  it('ends when the client is gone, also while the backend neither connects nor hears of it', async () => {
    const late = Promise.withResolvers<Duplex>();
    const bed = await setup({ dial: { dial: () => late.promise } });
    const client = await WebSocketClient.open(bed.port, '/portForward/ns/p?port=80', protocol);
    await until(() => bed.counts.streams === 1);
    client.raw.socket.destroy();
    await until(() => bed.counts.streams === 0 && bed.counts.requests === 0);
    const [connection] = duplexPair();
    late.resolve(connection);
    await until(() => connection.destroyed);
  });
});
