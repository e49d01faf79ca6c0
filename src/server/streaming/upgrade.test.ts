import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../testing/fake-clock.ts';
import { StreamBed } from './testing/bed.ts';
import { RawClient } from './testing/raw-client.ts';
import { webSocketHeaders } from './testing/ws-client.ts';
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

interface Answer {
  readonly code: number;
  readonly head: string;
  readonly body: string;
}

/** Sends the request as it is written and reads the answer as bytes. */
async function ask(bed: StreamBed, line: string, headers: readonly string[] = []): Promise<Answer> {
  const client = await RawClient.open(bed.port);
  client.request(line, line.startsWith('GET') ? headers : [...headers, 'Content-Length: 0']);
  const head = await client.head();
  const length = Number(/^Content-Length: (\d+)\r$/im.exec(head)?.[1] ?? 0);
  const body = await client.take((bytes) =>
    bytes.length < length ? undefined : { value: bytes.toString('utf8', 0, length), length },
  );
  client.socket.destroy();
  return { code: Number(head.split(' ')[1]), head, body };
}

const SPDY = ['Connection: Upgrade', 'Upgrade: SPDY/3.1'];
const V4 = [...SPDY, 'X-Stream-Protocol-Version: v4.channel.k8s.io'];
const FORWARD = [...SPDY, 'X-Stream-Protocol-Version: portforward.k8s.io'];
const ws = webSocketHeaders;
const EXEC = '/exec/ns/p/c?command=true&output=1';

// The table of the streaming reference, section 10.
describe('the answer to', () => {
  it.each<[string, string, readonly string[], number, string]>([
    ['an unknown pod, exec', 'POST /exec/ns/none/c?output=1', V4, 404, 'pod does not exist'],
    [
      'an unknown pod, exec by WebSocket',
      'GET /exec/ns/none/c?output=1',
      ws('v5.channel.k8s.io'),
      404,
      'pod does not exist',
    ],
    ['an unknown pod, attach', 'POST /attach/ns/none/c?output=1', V4, 404, 'pod does not exist'],
    ['an unknown namespace, port-forward', 'POST /portForward/other/p', FORWARD, 404, 'pod does not exist'],
    ['another uid, port-forward', 'POST /portForward/ns/p/deadbeef', FORWARD, 404, 'pod not found'],
    ['another uid, attach', 'POST /attach/ns/p/deadbeef/c?output=1', V4, 500, 'pod p_ns not found'],
    ['an unknown container, exec', 'POST /exec/ns/p/nope?output=1', V4, 500, 'container not found ("nope")'],
    ['a dead container, exec', 'POST /exec/ns/p/dead?output=1', V4, 500, 'container not found ("dead")'],
    [
      'an unknown container, exec by WebSocket',
      'GET /exec/ns/p/nope?output=1',
      ws('v5.channel.k8s.io'),
      500,
      'container not found ("nope")',
    ],
    [
      'an unknown container, attach',
      'POST /attach/ns/p/nope?output=1',
      V4,
      500,
      'container nope not found in pod p_ns',
    ],
    [
      'stderr of a terminal',
      'POST /attach/ns/p/term?output=1&error=1',
      V4,
      500,
      'rpc error: code = InvalidArgument desc = tty and stderr cannot both be true',
    ],
    ['no streams', 'POST /exec/ns/p/c?command=true', V4, 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    [
      'streams by other words',
      'POST /exec/ns/p/c?output=true',
      V4,
      400,
      'you must specify at least 1 of stdin, stdout, stderr',
    ],
    [
      'stderr and a terminal only',
      'POST /exec/ns/p/c?error=1&tty=1',
      V4,
      400,
      'you must specify at least 1 of stdin, stdout, stderr',
    ],
    ['no streams of no pod', 'POST /exec/ns/none/c', V4, 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    [
      'SPDY without a version',
      `POST ${EXEC}`,
      SPDY,
      400,
      'unable to upgrade: header X-Stream-Protocol-Version does not exist in request with 3 headers',
    ],
    [
      'SPDY with an empty version',
      `POST ${EXEC}`,
      [...SPDY, 'X-Stream-Protocol-Version: '],
      400,
      'unable to upgrade: header X-Stream-Protocol-Version contains [], but no valid protocols',
    ],
    [
      'SPDY with unknown versions',
      `POST ${EXEC}`,
      [...SPDY, 'X-Stream-Protocol-Version: v9.channel.k8s.io', 'X-Stream-Protocol-Version: v5.channel.k8s.io'],
      403,
      'unable to upgrade: unable to negotiate protocol: client supports [v9.channel.k8s.io v5.channel.k8s.io], ' +
        'server accepts [v4.channel.k8s.io v3.channel.k8s.io v2.channel.k8s.io channel.k8s.io]',
    ],
    [
      'port-forward with a version of exec',
      'POST /portForward/ns/p',
      V4,
      403,
      'unable to upgrade: unable to negotiate protocol: client supports [v4.channel.k8s.io], server accepts [portforward.k8s.io]',
    ],
    [
      'another upgrade',
      `POST ${EXEC}`,
      ['Connection: Upgrade', 'Upgrade: h2c', 'Authorization: Bearer secret'],
      400,
      'unable to upgrade: missing upgrade headers in request: ' +
        'http.Header{"Connection":[]string{"Upgrade"}, "Content-Length":[]string{"0"}, "Upgrade":[]string{"h2c"}}',
    ],
    [
      'no upgrade, POST',
      `POST ${EXEC}`,
      ['X-Stream-Protocol-Version: v4.channel.k8s.io'],
      500,
      'Upgrade request required\n',
    ],
    ['no upgrade, GET', `GET ${EXEC}`, [], 500, 'Upgrade request required\n'],
    ['no upgrade, port-forward', 'GET /portForward/ns/p', [], 500, 'Upgrade request required\n'],
    ['no upgrade of no pod', 'GET /attach/ns/none/c?output=1', [], 404, 'pod does not exist'],
    ['PUT', `PUT ${EXEC}`, V4, 405, '405: Method Not Allowed'],
    ['DELETE without an upgrade', `DELETE ${EXEC}`, [], 405, '405: Method Not Allowed'],
    ['a path too short', 'POST /exec/ns/p?output=1', V4, 404, '404: Page Not Found'],
    ['a path too short without an upgrade', 'GET /portForward/ns', [], 404, '404: Page Not Found'],
    ['a path too long', 'POST /exec/ns/p/uid/c/more?output=1', V4, 404, '404: Page Not Found'],
    ['an empty name', 'POST /exec/ns//c?output=1', V4, 404, '404: Page Not Found'],
    ['a broken escape', 'POST /exec/ns/p/%zz?output=1', V4, 400, 'Bad Request'],
    ['an unknown path with an upgrade', 'POST /nosuch', V4, 404, '404 page not found\n'],
    ['a path in other letters', 'POST /Exec/ns/p/c?output=1', V4, 404, '404 page not found\n'],
    ['a WebSocket of an unknown subprotocol', `GET ${EXEC}`, ws('bogus.k8s.io'), 403, ''],
    ['a WebSocket of version 3', `GET ${EXEC}`, ws('v3.channel.k8s.io'), 403, ''],
    ['a port-forward of WebSocket version 5', 'GET /portForward/ns/p?port=80', ws('v5.channel.k8s.io'), 403, ''],
    [
      'a tunnel of something else',
      'GET /portForward/ns/p',
      ws('SPDY/3.1+bogus.k8s.io'),
      403,
      'unable to upgrade: unable to negotiate protocol: client supports [bogus.k8s.io], server accepts [portforward.k8s.io]',
    ],
    ['a WebSocket by POST', `POST ${EXEC}`, ws('v5.channel.k8s.io'), 405, 'bad method'],
    [
      'WebSocket version 8',
      `GET ${EXEC}`,
      ws('v5.channel.k8s.io').map((line) => line.replace('Version: 13', 'Version: 8')),
      400,
      'missing or bad WebSocket Version',
    ],
    [
      'a WebSocket without a key',
      `GET ${EXEC}`,
      ws('v5.channel.k8s.io').filter((line) => !line.includes('Key')),
      400,
      'mismatch challenge/response',
    ],
    [
      'channels without a port',
      'GET /portForward/ns/p',
      ws('v4.channel.k8s.io'),
      400,
      'query parameter "port" is required',
    ],
    [
      'channels with an empty port',
      'GET /portForward/ns/p?port=',
      ws('v4.channel.k8s.io'),
      400,
      'query parameter "port" cannot be empty',
    ],
    [
      'a port that is none',
      'GET /portForward/ns/p?port=70000',
      ws('v4.channel.k8s.io'),
      400,
      'unable to parse "70000" as a port: strconv.ParseUint: parsing "70000": value out of range',
    ],
    [
      'a list with a port that is none',
      'GET /portForward/ns/p?port=80,http',
      ws('v4.channel.k8s.io'),
      400,
      'unable to parse "80,http" as a port: strconv.ParseUint: parsing "http": invalid syntax',
    ],
    ['port 0', 'GET /portForward/ns/p?port=0', ws('v4.channel.k8s.io'), 400, 'port "0" must be > 0'],
  ])('%s', async (_name, line, headers, code, body) => {
    const bed = await setup();
    const answer = await ask(bed, line, headers);
    expect(answer).toMatchObject({ code, body });
    expect(answer.head).toMatch(/^Content-Type: text\/plain; charset=utf-8\r$/im);
    expect(bed.exec.commands).toEqual([]);
    expect(bed.seen).toEqual([]);
  });

  it('a method that is not allowed names those that are', async () => {
    const bed = await setup();
    for (const headers of [V4, []])
      expect((await ask(bed, `PUT ${EXEC}`, headers)).head).toMatch(/^Allow: GET, POST\r$/m);
  });

  it('unknown versions names the known ones, a line each', async () => {
    const bed = await setup();
    const { head } = await ask(bed, `POST ${EXEC}`, [...SPDY, 'X-Stream-Protocol-Version: v9']);
    expect(head.match(/^X-Accepted-Stream-Protocol-Versions: .*(?=\r$)/gm)).toEqual(
      ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io'].map(
        (name) => `X-Accepted-Stream-Protocol-Versions: ${name}`,
      ),
    );
  });

  it('a bad WebSocket version names the good one and closes', async () => {
    const bed = await setup();
    const headers = ws('v5.channel.k8s.io').map((line) => line.replace('Version: 13', 'Version: 14'));
    const { head } = await ask(bed, `GET ${EXEC}`, headers);
    expect(head).toMatch(/^Sec-Websocket-Version: 13\r$/m);
    expect(head).toMatch(/^Connection: close\r$/m);
  });

  it.each<[string, string, readonly string[]]>([
    ['exec', `POST ${EXEC}`, V4],
    ['attach', 'POST /attach/ns/p/c?output=1', V4],
    ['port-forward', 'POST /portForward/ns/p', FORWARD],
  ])('%s where the backend cannot, is 501 with words', async (_name, line, headers) => {
    const bed = await setup({ exec: undefined, attach: undefined, dial: undefined } as object);
    const answer = await ask(bed, line, headers);
    expect(answer).toMatchObject({ code: 501, body: expect.stringContaining('the backend of this node') });
  });

  it('port-forward to a pod that the backend does not know is 500', async () => {
    const bed = await setup({ observed: { get: () => undefined } });
    expect(await ask(bed, 'POST /portForward/ns/p', FORWARD)).toMatchObject({
      code: 500,
      body: 'pod not found ("p_ns")',
    });
  });

  it('everything is 405 when debugging handlers are off', async () => {
    const bed = await setup({ debugging: false });
    expect(await ask(bed, `POST ${EXEC}`, V4)).toMatchObject({ code: 405, body: 'Debug endpoints are disabled.\n' });
  });
});

describe('access', () => {
  it('is asked for before anything else', async () => {
    const bed = await setup({ access: { clock: new FakeClock(), anonymous: false, authorize: async () => true } });
    for (const line of [`POST ${EXEC}`, 'POST /exec/short', 'PUT /exec/ns/none/c']) {
      expect(await ask(bed, line, V4)).toMatchObject({ code: 401, body: 'Unauthorized' });
    }
    const token = [...V4, 'Authorization: Bearer abc'];
    expect(await ask(bed, `POST ${EXEC}`, token)).toMatchObject({ code: 401, body: 'Unauthorized' });
  });

  it('is refused in the words of the kubelet, with the verb of the method', async () => {
    const bed = await setup({ access: { clock: new FakeClock(), anonymous: true, authorize: async () => false } });
    const body = (verb: string): string =>
      `Forbidden (user=system:anonymous, verb=${verb}, resource=nodes, subresource(s)=[proxy])\n`;
    expect(await ask(bed, `POST ${EXEC}`, V4)).toMatchObject({ code: 403, body: body('create') });
    expect(await ask(bed, `GET ${EXEC}`, ws('v5.channel.k8s.io'))).toMatchObject({ code: 403, body: body('get') });
  });

  it('that cannot be decided is 500, and logged', async () => {
    const authorize = () => Promise.reject(new Error('no API server'));
    const bed = await setup({ access: { clock: new FakeClock(), anonymous: true, authorize } });
    expect(await ask(bed, `POST ${EXEC}`, V4)).toMatchObject({ code: 500 });
    expect(bed.lines).toEqual(['warn request could not be authorized']);
  });
});

describe('a connection', () => {
  it('that is refused is closed after 5 s, though the client goes on', async () => {
    const bed = await setup();
    const client = await RawClient.open(bed.port);
    client.request('POST /exec/ns/none/c?output=1', V4);
    await client.head();
    expect(bed.streams.size).toBe(1);
    client.send('still here');
    await bed.clock.advance(5_000);
    await client.untilEnd();
    expect(bed.streams.size).toBe(0);
  });

  it('ends with the server', async () => {
    const bed = await setup();
    const client = await RawClient.open(bed.port);
    client.request('POST /portForward/ns/p', FORWARD);
    expect(await client.head()).toContain('101 Switching Protocols');
    await bed.close();
    beds.length = 0;
    await client.untilEnd();
    expect(bed.streams.size).toBe(0);
  });

  it('whose handler fails takes no other one with it', async () => {
    let calls = 0;
    const findPod: StreamServerOptions['findPod'] = () => {
      calls++;
      throw new Error('a fault of ours');
    };
    const bed = await setup({ findPod });
    const other = await RawClient.open(bed.port);
    const client = await RawClient.open(bed.port);
    client.request(`POST ${EXEC}`, V4);
    await client.untilEnd();
    expect(calls).toBe(1);
    expect(bed.lines).toEqual(['error stream failed']);
    expect(other.ended).toBe(false);
    other.socket.destroy();
  });
});

describe('SPDY', () => {
  it.each([
    [['v5.channel.k8s.io', 'v4.channel.k8s.io', 'channel.k8s.io'], 'v4.channel.k8s.io'],
    [['v2.channel.k8s.io, v4.channel.k8s.io'], 'v2.channel.k8s.io'],
    [['channel.k8s.io'], 'channel.k8s.io'],
  ])('of %j speaks %s, and the answer says nothing more', async (offers, chosen) => {
    const bed = await setup();
    const client = await RawClient.open(bed.port);
    client.request(`POST ${EXEC}`, [...SPDY, ...offers.map((offer) => `X-Stream-Protocol-Version: ${offer}`)]);
    expect(await client.head()).toBe(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${chosen}\r\n\r\n`,
    );
    expect(bed.seen).toEqual([`exec spdy ${chosen}`]);
    expect(bed.lines).toEqual(['info stream opened']);
    client.socket.destroy();
  });
});
