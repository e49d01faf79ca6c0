import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { until } from './testing/bed.ts';
import { BINARY, CLOSE, clientFrame, PING, PONG, WebSocketClient } from './testing/ws-client.ts';
import { ALL_STREAMS, inputOf, SUCCESS, WebSocketCommands } from './testing/ws-command.ts';

const commands = new WebSocketCommands();

afterEach(() => commands.close());

describe('a client that goes', () => {
  it('frees the session at once, and the command is not killed', async () => {
    const { bed, client, command } = await commands.exec('v5.channel.k8s.io');
    client.raw.socket.destroy();
    await until(() => command.signal.aborted && bed.streams.size === 0);
    expect(command.request.killOnAbort).toBe(false);
    await until(() => bed.lines.length === 2);
    expect(bed.lines).toEqual(['info stream opened', 'info stream closed']);
  });

  it('takes the command along where that is configured', async () => {
    const { command } = await commands.exec('v5.channel.k8s.io', ALL_STREAMS, { endExecWithClient: true });
    expect(command.request.killOnAbort).toBe(true);
  });

  it('is asked every 2 s meanwhile: behind an API server it takes up to four writes to find out', async () => {
    const { bed, client } = await commands.exec('v5.channel.k8s.io');
    await client.receive();
    await fill(client);
    await bed.clock.advance(8_500);
    for (let asked = 0; asked < 4; asked++) expect((await client.receive())?.opcode).toBe(PING);
  });

  it('is found out although a command that reads nothing has stopped the connection', async () => {
    const { bed, client, command } = await commands.exec('v5.channel.k8s.io');
    await fill(client);
    client.raw.socket.destroy();
    for (let second = 0; second < 10 && !command.signal.aborted; second++) {
      await bed.clock.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(command.signal.aborted).toBe(true);
    await until(() => bed.streams.size === 0);
  });

  it('is given 5 s to say goodbye', async () => {
    const { bed, client, command } = await commands.exec('v5.channel.k8s.io');
    command.end(0);
    await until(() => client.raw.bytes.includes(SUCCESS));
    await bed.clock.advance(4_000);
    expect(bed.streams.size).toBe(1);
    await bed.clock.advance(1_000);
    await client.raw.untilEnd();
    await until(() => bed.streams.size === 0);
  });

  it('is ended when nothing happens for too long', async () => {
    const { bed, client, command } = await commands.exec('v5.channel.k8s.io', ALL_STREAMS, {
      streamingIdleTimeoutMs: 60_000,
    });
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
    const { client, command } = await commands.exec('v5.channel.k8s.io');
    client.raw.socket.pause();
    expect(await command.writeUntilHeldBack()).toBeLessThan(48 << 20);
  });

  it('is bounded when the client sends more than the command reads', async () => {
    const { client, command } = await commands.exec('v5.channel.k8s.io');
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
    const { bed, client } = await commands.exec('v5.channel.k8s.io');
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
    const { client, command } = await commands.exec('v5.channel.k8s.io', 'input=1');
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
    const { client, command } = await commands.exec('v5.channel.k8s.io');
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
    const bed = await commands.openBed();
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

/** Until nothing more is taken. */
async function fill(client: WebSocketClient): Promise<void> {
  const block = Buffer.concat([Buffer.from([0]), Buffer.alloc(256 * 1024)]);
  for (let stuck = 0; stuck < 30; stuck++) {
    if (client.raw.socket.writableLength === 0) {
      client.send(BINARY, block);
      stuck = 0;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
