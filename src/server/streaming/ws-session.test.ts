import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { StreamBed, until } from './testing/bed.ts';
import type { FakeCommand } from './testing/fake-facets.ts';
import { BINARY, CLOSE, clientFrame, PING, PONG, TEXT, WebSocketClient } from './testing/ws-client.ts';
import type { StreamServerOptions } from './upgrade.ts';

const beds: StreamBed[] = [];

afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.close();
});

const ALL = 'input=1&output=1&error=1';

async function setup(subprotocol?: string, query = ALL, overrides: Partial<StreamServerOptions> = {}) {
  const bed = await StreamBed.open(overrides);
  beds.push(bed);
  const client = await WebSocketClient.open(bed.port, `/exec/ns/p/c?command=a&command=b+c&${query}`, subprotocol);
  await until(() => bed.exec.commands.length === 1);
  // Just waited for.
  const command = bed.exec.commands[0] as FakeCommand;
  return { bed, client, command };
}

/** What has arrived at the command by now and later. */
function inputOf(command: FakeCommand): { text: string; ended: boolean } {
  const seen = { text: '', ended: false };
  command.stdin.on('data', (chunk: Buffer) => {
    seen.text += chunk.toString('latin1');
  });
  command.stdin.on('end', () => {
    seen.ended = true;
  });
  return seen;
}

const SUCCESS = '{"metadata":{},"status":"Success"}';
const EXIT_3 =
  '{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 3",' +
  '"reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}';

describe.each([
  ['v5.channel.k8s.io', 'v5.channel.k8s.io', 5],
  ['v4.channel.k8s.io', 'v4.channel.k8s.io', 4],
  ['channel.k8s.io', 'channel.k8s.io', 1],
  [undefined, undefined, 1],
  ['v4.channel.k8s.io, v5.channel.k8s.io', 'v5.channel.k8s.io', 5],
  ['base64url.bearer.authorization.k8s.io.c2VjcmV0, v4.channel.k8s.io', 'v4.channel.k8s.io', 4],
])('offered %s, exec', (offer, chosen, version) => {
  it(`answers ${chosen ?? 'without a name'}, and carries each stream apart`, async () => {
    const { bed, client, command } = await setup(offer);
    expect(client.subprotocol).toBe(chosen);
    expect(bed.seen).toEqual([`exec websocket ${chosen ?? ''}`]);
    expect(client.answer).not.toMatch(/extensions/i);
    expect(await client.receive()).toEqual({ opcode: BINARY, payload: Buffer.from([1]) });
    expect(command.ref).toMatchObject({ container: 'c', attempt: 2 });
    expect(command.request).toEqual({ command: ['a', 'b c'], tty: false, stdin: true, killOnAbort: false });
    const input = inputOf(command);
    client.send(BINARY, '\x00hello');
    await until(() => input.text === 'hello');
    command.stdout.write('out');
    expect(await client.receive()).toEqual({ opcode: BINARY, payload: Buffer.from('\x01out') });
    command.stderr.write('err');
    expect(await client.receive()).toEqual({ opcode: BINARY, payload: Buffer.from('\x02err') });
    command.end(3);
    const status = version >= 4 ? EXIT_3 : 'command terminated with non-zero exit code: exit status 3';
    expect(await client.rest()).toEqual([
      [BINARY, `\x03${status}`],
      [CLOSE, 1000],
    ]);
    await client.raw.untilEnd();
    await until(() => bed.streams.size === 0);
  });

  it('says nothing of a success before version 4', async () => {
    const { client, command } = await setup(offer);
    await client.receive();
    command.end(0);
    expect(await client.rest()).toEqual([...(version >= 4 ? [[BINARY, `\x03${SUCCESS}`]] : []), [CLOSE, 1000]]);
  });
});

describe.each(['v4.base64.channel.k8s.io', 'base64.channel.k8s.io'])('%s', (protocol) => {
  it('carries texts, a digit before base64', async () => {
    const { client, command } = await setup(protocol);
    expect(client.subprotocol).toBe(protocol);
    expect(await client.receive()).toEqual({ opcode: TEXT, payload: Buffer.from('1') });
    const input = inputOf(command);
    client.send(TEXT, `0${Buffer.from('hello\xff', 'latin1').toString('base64')}`);
    client.send(TEXT, '0not base64!');
    client.send(TEXT, '0====');
    client.send(TEXT, '0aGk=');
    await until(() => input.text === 'hello\xffhi');
    command.stdout.write(Buffer.from('\xfe', 'latin1'));
    expect(await client.receive()).toEqual({ opcode: TEXT, payload: Buffer.from('1/g==') });
    command.end(0);
    const status = protocol.startsWith('v4') ? [[TEXT, `3${Buffer.from(SUCCESS).toString('base64')}`]] : [];
    expect(await client.rest()).toEqual([...status, [CLOSE, 1000]]);
  });
});

describe('the first message', () => {
  it.each([
    ['output=1', 1],
    ['error=1&input=1', 2],
    ['input=1', 3],
  ])('with %s is empty, on channel %i', async (query, channel) => {
    const { client } = await setup('v5.channel.k8s.io', query);
    expect(await client.receive()).toEqual({ opcode: BINARY, payload: Buffer.from([channel]) });
  });
});

describe('version 5', () => {
  it('ends stdin by a signal, and the output goes on', async () => {
    const { client, command } = await setup('v5.channel.k8s.io');
    await client.receive();
    const input = inputOf(command);
    client.send(BINARY, '\x00last');
    client.send(BINARY, [255, 0]);
    await until(() => input.ended);
    client.send(BINARY, '\x00too late');
    command.stdout.write('answer');
    expect(await client.receive()).toEqual({ opcode: BINARY, payload: Buffer.from('\x01answer') });
    expect(input.text).toBe('last');
  });

  it.each([[[255]], [[255, 0, 0]], [[255, 5]]])('is cut off by the signal %j', async (signal) => {
    const { bed, client, command } = await setup('v5.channel.k8s.io');
    await client.receive();
    client.send(BINARY, signal);
    expect(await client.rest()).toEqual([[CLOSE, 1002]]);
    await until(() => command.signal.aborted && bed.streams.size === 0);
  });

  it('alone knows the signal', async () => {
    const { client, command } = await setup('v4.channel.k8s.io');
    await client.receive();
    const input = inputOf(command);
    client.send(BINARY, [255, 0]);
    client.send(BINARY, '\x00still');
    await until(() => input.text === 'still');
    expect(input.ended).toBe(false);
  });
});

describe('a terminal', () => {
  it('gets the size that came before the command, and the later ones', async () => {
    const starts: (() => void)[] = [];
    const started = new Promise<void>((resolve) => starts.push(resolve));
    const bed = await StreamBed.open();
    beds.push(bed);
    const start = bed.exec.exec.bind(bed.exec);
    bed.exec.exec = async (...call) => {
      await started;
      return start(...call);
    };
    const client = await WebSocketClient.open(
      bed.port,
      '/exec/ns/p/c?command=sh&input=1&output=1&error=1&tty=1',
      'v5.channel.k8s.io',
    );
    await client.receive();
    client.send(BINARY, '\x04{"Width":0,"Height":0}\n{"Width":80,"Hei');
    client.send(BINARY, '\x04ght":24}\n{"Width":81,"Height":25}\n');
    client.send(PING, 'x');
    expect(await client.receive()).toEqual({ opcode: PONG, payload: Buffer.from('x') });
    starts[0]?.();
    await until(() => bed.exec.commands[0]?.sizes.length === 1);
    client.send(BINARY, '\x04{"Width":90,"Height":30}\n');
    await until(() => bed.exec.commands[0]?.sizes.length === 2);
    expect(bed.exec.commands[0]?.sizes).toEqual([
      { columns: 81, rows: 25 },
      { columns: 90, rows: 30 },
    ]);
    expect(bed.exec.commands[0]?.request.tty).toBe(true);
  });
});

describe('a failure', () => {
  it('to start is told as an internal error, without an output', async () => {
    const bed = await StreamBed.open();
    beds.push(bed);
    bed.exec.failure = new Error('no such file');
    const client = await WebSocketClient.open(bed.port, `/exec/ns/p/c?command=a&${ALL}`, 'v5.channel.k8s.io');
    await client.receive();
    const message = 'Internal error occurred: error executing command in container: no such file';
    expect(await client.rest()).toEqual([
      [BINARY, `\x03{"metadata":{},"status":"Failure","message":"${message}","reason":"InternalError","code":500}`],
      [CLOSE, 1000],
    ]);
    await until(() => bed.lines.length === 3);
    expect(bed.lines).toEqual(['info stream opened', 'warn stream to a container broke off', 'info stream closed']);
  });

  it('of the transport is an internal error, after what was written', async () => {
    const { client, command } = await setup(undefined);
    await client.receive();
    command.stdout.write('half');
    command.end(new Error('the engine is gone'));
    expect(await client.rest()).toEqual([
      [BINARY, '\x01half'],
      [BINARY, '\x03Internal error occurred: error executing command in container: the engine is gone'],
      [CLOSE, 1000],
    ]);
  });
});

describe('attach', () => {
  async function attach(container: string, query: string) {
    const bed = await StreamBed.open();
    beds.push(bed);
    const client = await WebSocketClient.open(bed.port, `/attach/ns/p/${container}?${query}`, 'v4.channel.k8s.io');
    await client.receive();
    await until(() => bed.exec.commands.length === 1);
    return { bed, client, command: bed.exec.commands[0] as FakeCommand };
  }

  it('ends with success, whatever the exit code', async () => {
    const { client, command } = await attach('c', 'output=1');
    command.end(7);
    expect(await client.rest()).toEqual([
      [BINARY, `\x03${SUCCESS}`],
      [CLOSE, 1000],
    ]);
  });

  it('names itself in a failure', async () => {
    const { client, command } = await attach('c', 'output=1');
    command.end(new Error('gone'));
    expect((await client.rest())[0]?.[1]).toContain('"Internal error occurred: error attaching to container: gone"');
  });

  it('has a terminal where the container has, not where the client asks for one', async () => {
    expect((await attach('term', 'input=1&output=1')).command.request).toEqual({ tty: true, stdin: true });
    expect((await attach('c', 'output=1&tty=1')).command.request).toEqual({ tty: false, stdin: false });
  });
});

describe('a client that goes', () => {
  it('frees the session at once, and the command is not killed', async () => {
    const { bed, client, command } = await setup('v5.channel.k8s.io');
    client.raw.socket.destroy();
    await until(() => command.signal.aborted && bed.streams.size === 0);
    expect(command.request.killOnAbort).toBe(false);
    await until(() => bed.lines.length === 2);
    expect(bed.lines).toEqual(['info stream opened', 'info stream closed']);
  });

  it('takes the command along where that is configured', async () => {
    const { command } = await setup('v5.channel.k8s.io', ALL, { endExecWithClient: true });
    expect(command.request.killOnAbort).toBe(true);
  });

  it('is found out although a command that reads nothing has stopped the connection', async () => {
    const { bed, client, command } = await setup('v5.channel.k8s.io');
    const block = Buffer.concat([Buffer.from([0]), Buffer.alloc(256 * 1024)]);
    for (let stuck = 0; stuck < 30; stuck++) {
      if (client.raw.socket.writableLength === 0) {
        client.send(BINARY, block);
        stuck = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    client.raw.socket.destroy();
    for (let second = 0; second < 10 && !command.signal.aborted; second++) {
      await bed.clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(command.signal.aborted).toBe(true);
    await until(() => bed.streams.size === 0);
  });

  it('is given 5 s to say goodbye', async () => {
    const { bed, client, command } = await setup('v5.channel.k8s.io');
    command.end(0);
    await until(() => client.raw.bytes.includes(SUCCESS));
    await bed.clock.advance(4_000);
    expect(bed.streams.size).toBe(1);
    await bed.clock.advance(1_000);
    await client.raw.untilEnd();
    await until(() => bed.streams.size === 0);
  });

  it('is ended when nothing happens for too long', async () => {
    const { bed, client, command } = await setup('v5.channel.k8s.io', ALL, { streamingIdleTimeoutMs: 60_000 });
    await bed.clock.advance(50_000);
    client.send(BINARY, '\x00x');
    const input = inputOf(command);
    await until(() => input.text === 'x');
    await bed.clock.advance(50_000);
    expect(command.signal.aborted).toBe(false);
    await bed.clock.advance(60_000);
    await until(() => command.signal.aborted && bed.streams.size === 0);
  });
});

describe('memory', () => {
  it('is bounded when the client reads nothing', async () => {
    const { client, command } = await setup('v5.channel.k8s.io');
    client.raw.socket.pause();
    const block = Buffer.alloc(64 * 1024);
    let written = 0;
    // Stands still when the outputs of the command say so.
    for (let quiet = 0; quiet < 50; quiet++) {
      while (command.stdout.writableLength < 1 << 20 && written < 1 << 30) {
        command.stdout.write(block);
        written += block.length;
        quiet = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(written).toBeLessThan(48 << 20);
  });

  it('is bounded when the client sends more than the command reads', async () => {
    const { client, command } = await setup('v5.channel.k8s.io');
    const block = Buffer.concat([Buffer.from([0]), Buffer.alloc(256 * 1024)]);
    let sent = 0;
    for (let quiet = 0; quiet < 50; quiet++) {
      while (client.raw.socket.writableLength < 1 << 20 && sent < 256 << 20) {
        client.send(BINARY, block);
        sent += block.length;
        quiet = 0;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(sent).toBeLessThan(48 << 20);
    // And it goes on when the command reads.
    let read = 0;
    command.stdin.on('data', (chunk: Buffer) => {
      read += chunk.length;
    });
    const messages = sent / block.length;
    await until(() => read === messages * 256 * 1024);
  });

  it('is bounded when the client pings and never reads', async () => {
    const { bed, client } = await setup('v5.channel.k8s.io');
    client.raw.socket.pause();
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => clientFrame(PING, Buffer.alloc(125))));
    for (let sent = 0; sent < 300; sent++) {
      if (!client.raw.socket.write(pings)) await once(client.raw.socket, 'drain');
    }
    client.raw.socket.resume();
    client.send(CLOSE, [0x03, 0xe8]);
    const answered = (await client.raw.untilEnd()).length;
    // Of nearly 40 MB: what the kernel holds, and 4 MiB.
    expect(answered).toBeLessThan(20 << 20);
    await until(() => bed.streams.size === 0);
  });

  it('has room for output that nobody asked for', async () => {
    const { client, command } = await setup('v5.channel.k8s.io', 'input=1');
    await client.receive();
    for (let written = 0; written < 8 << 20; written += 1 << 20) command.stdout.write(Buffer.alloc(1 << 20));
    command.end(0);
    expect(await client.rest()).toEqual([
      [BINARY, `\x03${SUCCESS}`],
      [CLOSE, 1000],
    ]);
  });
});

describe('input that the command does not read', () => {
  it('is dropped once the command has closed it', async () => {
    const { client, command } = await setup('v5.channel.k8s.io');
    await client.receive();
    command.stdin.destroy();
    const block = Buffer.concat([Buffer.from([0]), Buffer.alloc(256 * 1024)]);
    for (let sent = 0; sent < 32; sent++) client.send(BINARY, block);
    client.send(PING, 'through');
    expect(await client.receive()).toEqual({ opcode: PONG, payload: Buffer.from('through') });
    command.end(0);
    expect((await client.rest()).at(-1)).toEqual([CLOSE, 1000]);
  });
});

describe('1,000 idle sessions', () => {
  it('stand, and end with the server', async () => {
    const bed = await StreamBed.open();
    beds.push(bed);
    const open = () => WebSocketClient.open(bed.port, '/exec/ns/p/c?command=a&input=1', 'v5.channel.k8s.io');
    const clients: WebSocketClient[] = [];
    for (let group = 0; group < 20; group++) {
      clients.push(...(await Promise.all(Array.from({ length: 50 }, open))));
    }
    expect(bed.streams.size).toBe(1_000);
    expect(bed.exec.commands).toHaveLength(1_000);
    bed.streams.close();
    await Promise.all(clients.map(({ raw }) => raw.untilEnd()));
    await until(() => bed.exec.commands.every(({ signal }) => signal.aborted));
  });
});
