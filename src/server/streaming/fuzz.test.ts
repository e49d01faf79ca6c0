import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StreamBed, until } from './testing/bed.ts';
import { RawClient } from './testing/raw-client.ts';
import { BINARY, CLOSE, clientFrame, PING, PONG, TEXT, WebSocketClient } from './testing/ws-client.ts';

/** Whatever clients send: nothing of the process breaks, and when they are gone nothing of them is left. */

let bed: StreamBed;

beforeAll(async () => {
  bed = await StreamBed.open();
  bed.exec.script = (command) => {
    command.stdin.pipe(command.stdout);
  };
  bed.dial.servers.set(80, (connection) => connection.pipe(connection));
});

afterAll(() => bed.close());

const PATHS = [
  ['/exec/ns/p/c?command=a&input=1&output=1&error=1', 'v5.channel.k8s.io'],
  ['/exec/ns/p/c?command=a&input=1&output=1&tty=1', 'v4.base64.channel.k8s.io'],
  ['/attach/ns/p/c?input=1', undefined],
  ['/portForward/ns/p', 'SPDY/3.1+portforward.k8s.io'],
  ['/portForward/ns/p?port=80&port=81', 'v4.channel.k8s.io'],
] as const;

const anyMessage = fc.record({
  opcode: fc.constantFrom(0, TEXT, BINARY, 3, CLOSE, PING, PONG, 11),
  fin: fc.boolean(),
  payload: fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .tuple(fc.constantFrom(0, 1, 2, 3, 4, 5, 48, 52, 255), fc.uint8Array({ maxLength: 50 }))
      .map(([first, rest]) => Uint8Array.of(first, ...rest)),
  ),
});

async function freed(): Promise<void> {
  await until(() => bed.streams.size === 0);
  await until(() => bed.counts.requests === 0 && bed.counts.streams === 0);
  expect(bed.exec.commands.filter(({ signal }) => !signal.aborted)).toEqual([]);
  expect(bed.lines.filter((line) => line.startsWith('error'))).toEqual([]);
}

/** Sends the bytes in pieces and goes. */
async function sendCut(client: RawClient, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  let start = 0;
  for (const cut of [...cuts.map((part) => Math.floor(part * bytes.length)).sort((a, b) => a - b), bytes.length]) {
    client.send(bytes.subarray(start, cut));
    start = cut;
    await new Promise((resolve) => setImmediate(resolve));
  }
  client.socket.end();
  client.socket.resume();
  await new Promise((resolve) => setTimeout(resolve, 2));
  client.socket.destroy();
}

const anyCuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });

describe('a WebSocket', () => {
  it.each(PATHS)('%s of %s survives frames of any kind, cut anywhere', async (path, subprotocol) => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyMessage, { maxLength: 20 }), anyCuts, async (messages, cuts) => {
        const client = await WebSocketClient.open(bed.port, path, subprotocol);
        const frames = messages.map(({ opcode, fin, payload }) => clientFrame(opcode, Buffer.from(payload), { fin }));
        await sendCut(client.raw, Buffer.concat(frames), cuts);
        await freed();
      }),
      { numRuns: 25 },
    );
  });

  it.each(PATHS)('%s of %s survives bytes that are no frames', async (path, subprotocol) => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 500 }), anyCuts, async (bytes, cuts) => {
        const client = await WebSocketClient.open(bed.port, path, subprotocol);
        await sendCut(client.raw, Buffer.from(bytes), cuts);
        await freed();
      }),
      { numRuns: 15 },
    );
  });

  it('that announces more than 32 MiB is closed at once', async () => {
    const client = await WebSocketClient.open(bed.port, PATHS[0][0], PATHS[0][1]);
    await client.receive();
    const head = Buffer.from('82ff0000000002000001', 'hex');
    client.raw.send(head, Buffer.alloc(4));
    expect((await client.rest()).at(-1)).toEqual([CLOSE, 1009]);
    client.raw.socket.destroy();
    await freed();
  });
});

describe('a request for an upgrade', () => {
  const anyPath = fc.oneof(
    fc.constantFrom(...PATHS.map(([path]) => path)),
    fc.webPath().map((path) => `/exec${path}`),
    fc
      .string({ unit: fc.constantFrom('/', '%', '?', '&', 'exec', 'ns', 'p', 'c', 'zz', '=1', 'port', '..') })
      .map((text) => `/${text}`),
  );
  const anyHeader = fc.tuple(
    fc.constantFrom(
      'Upgrade',
      'Sec-WebSocket-Key',
      'Sec-WebSocket-Version',
      'Sec-WebSocket-Protocol',
      'X-Stream-Protocol-Version',
      'Sec-WebSocket-Extensions',
    ),
    fc.oneof(
      fc.constantFrom(
        'websocket',
        'SPDY/3.1',
        '13',
        'dGhlIHNhbXBsZSBub25jZQ==',
        'v4.channel.k8s.io',
        ',',
        'SPDY/3.1+x.k8s.io',
      ),
      fc.stringMatching(/^[ -~]{0,30}$/),
    ),
  );

  it('of any form gets an answer, or an end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('GET', 'POST', 'PUT'),
        anyPath,
        fc.array(anyHeader, { maxLength: 8 }),
        async (method, path, headers) => {
          const client = await RawClient.open(bed.port);
          client.request(`${method} ${path}`, [
            'Connection: Upgrade',
            'Content-Length: 0',
            ...headers.map(([name, value]) => `${name}: ${value}`),
          ]);
          expect(await client.head()).toMatch(/^HTTP\/1\.1 (?:101|4\d\d|50[01]) /);
          client.socket.destroy();
          await freed();
        },
      ),
      { numRuns: 150 },
    );
  });
});
