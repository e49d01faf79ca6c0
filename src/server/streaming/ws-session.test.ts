import { afterEach, describe, expect, it } from 'vitest';
import { until } from './testing/bed.ts';
import type { FakeCommand } from './testing/fake-facets.ts';
import { BINARY, CLOSE, PING, PONG, TEXT, WebSocketClient } from './testing/ws-client.ts';
import { ALL_STREAMS, inputOf, SUCCESS, WebSocketCommands } from './testing/ws-command.ts';

const commands = new WebSocketCommands();

afterEach(() => commands.close());

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
    const { bed, client, command } = await commands.exec(offer);
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
    const { client, command } = await commands.exec(offer);
    await client.receive();
    command.end(0);
    expect(await client.rest()).toEqual([...(version >= 4 ? [[BINARY, `\x03${SUCCESS}`]] : []), [CLOSE, 1000]]);
  });
});

describe.each(['v4.base64.channel.k8s.io', 'base64.channel.k8s.io'])('%s', (protocol) => {
  it('carries texts, a digit before base64', async () => {
    const { client, command } = await commands.exec(protocol);
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
    const { client } = await commands.exec('v5.channel.k8s.io', query);
    expect(await client.receive()).toEqual({ opcode: BINARY, payload: Buffer.from([channel]) });
  });
});

describe('version 5', () => {
  it('ends stdin by a signal, and the output goes on', async () => {
    const { client, command } = await commands.exec('v5.channel.k8s.io');
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
    const { bed, client, command } = await commands.exec('v5.channel.k8s.io');
    await client.receive();
    client.send(BINARY, signal);
    expect(await client.rest()).toEqual([[CLOSE, 1002]]);
    await until(() => command.signal.aborted && bed.streams.size === 0);
  });

  it('alone knows the signal', async () => {
    const { client, command } = await commands.exec('v4.channel.k8s.io');
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
    const bed = await commands.openBed();
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
    const bed = await commands.openBed();
    bed.exec.failure = new Error('no such file');
    const client = await WebSocketClient.open(bed.port, `/exec/ns/p/c?command=a&${ALL_STREAMS}`, 'v5.channel.k8s.io');
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
    const { client, command } = await commands.exec(undefined);
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
    const bed = await commands.openBed();
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
