import { afterEach, describe, expect, it } from 'vitest';
import { StreamBed, until } from './testing/bed.ts';
import type { FakeCommand } from './testing/fake-facets.ts';
import { SpdyClient } from './testing/spdy-client.ts';

const beds: StreamBed[] = [];

afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.close();
});

const ALL = ['error', 'stdin', 'stdout', 'stderr'];

async function setup(protocol = 'v4.channel.k8s.io', query = 'input=1&output=1&error=1', types = ALL) {
  const bed = await StreamBed.open();
  beds.push(bed);
  const client = await SpdyClient.open(bed.port, `/exec/ns/p/c?command=a&${query}`, protocol);
  await client.openStreams(...types);
  await until(() => bed.exec.commands.length === 1);
  // Just waited for.
  return { bed, client, command: bed.exec.commands[0] as FakeCommand };
}

const SUCCESS = '{"metadata":{},"status":"Success"}';

describe('a session over SPDY', () => {
  it('begins when the streams that were asked for are there, and carries each apart', async () => {
    const { client, command } = await setup();
    client.raw.send(client.frames.data(3, 'in'), client.frames.fin(3));
    let input = '';
    command.stdin.on('data', (chunk: Buffer) => {
      input += chunk.toString();
    });
    await until(() => command.stdin.readableEnded);
    expect(input).toBe('in');
    command.stdout.write('out');
    command.stderr.write('err');
    await until(() => client.text(5) === 'out' && client.text(7) === 'err');
  });

  // Another order loses output or status (streaming reference, section 4).
  it('ends with the outputs, then the status, then resets and GOAWAY, and reads on until the client closes', async () => {
    const { bed, client, command } = await setup();
    command.stdout.write('last words');
    command.end(0);
    await until(() => client.story.includes('goAway'));
    const end = client.story.slice(client.story.indexOf('data 5'));
    expect(end).toEqual(['data 5', 'fin 5', 'fin 7', 'data 1', 'fin 1', ...end.slice(5)]);
    expect([...end.slice(5, -1)].sort()).toEqual(['rst 1', 'rst 3', 'rst 5', 'rst 7']);
    expect(client.text(1)).toBe(SUCCESS);
    client.raw.send(client.frames.data(3, Buffer.alloc(1 << 20)));
    await new Promise((resolve) => setTimeout(resolve, 10));
    client.raw.socket.end();
    await until(() => bed.streams.size === 0);
  });

  it.each([
    ['v4.channel.k8s.io', SUCCESS, '"details":{"causes":[{"reason":"ExitCode","message":"137"}]}'],
    ['v3.channel.k8s.io', '', 'command terminated with non-zero exit code: exit status 137'],
    ['v2.channel.k8s.io', '', 'command terminated with non-zero exit code: exit status 137'],
    ['channel.k8s.io', '', 'command terminated with non-zero exit code: exit status 137'],
  ])('of %s tells success and failure as it should', async (protocol, success, failure) => {
    for (const [code, text] of [
      [0, success],
      [137, failure],
    ] as const) {
      const { client, command } = await setup(protocol);
      command.end(code);
      await until(() => client.story.includes('goAway'));
      expect(client.text(1)).toContain(text);
      if (text === '') expect(client.text(1)).toBe('');
    }
  });

  it('has a stream for sizes from version 3 on, and none for stderr, with a terminal', async () => {
    const query = 'input=1&output=1&error=1&tty=1';
    const { client, command } = await setup('v3.channel.k8s.io', query, ['error', 'stdin', 'stdout', 'resize']);
    client.raw.send(client.frames.data(7, '{"Width":80,"Height":24}\n'));
    await until(() => command.sizes.length === 1);
    expect(command.sizes).toEqual([{ columns: 80, rows: 24 }]);
    const old = await setup('v2.channel.k8s.io', query, ['error', 'stdin', 'stdout']);
    expect(old.command.request.tty).toBe(true);
  });

  it('resets streams of an unknown type, not asked for, or twice there', async () => {
    const bed = await StreamBed.open();
    beds.push(bed);
    const client = await SpdyClient.open(bed.port, '/exec/ns/p/c?command=a&output=1', 'v4.channel.k8s.io');
    await client.openStreams('error', 'error', 'other', 'stdin', '');
    expect([3, 5, 7, 9].map((id) => client.answers(id))).toEqual([['rst'], ['rst'], ['rst'], ['rst']]);
    expect(bed.exec.commands).toEqual([]);
    client.raw.send(client.frames.synStream(11, { streamType: 'stdout' }));
    await until(() => bed.exec.commands.length === 1);
  });

  it('is given up after 30 s when streams are missing', async () => {
    const bed = await StreamBed.open();
    beds.push(bed);
    const client = await SpdyClient.open(bed.port, '/exec/ns/p/c?command=a&output=1', 'v4.channel.k8s.io');
    await client.openStreams('error');
    await bed.clock.advance(30_000);
    await until(() => client.story.includes('goAway'));
    client.raw.socket.destroy();
    await until(() => bed.streams.size === 0);
    expect(bed.exec.commands).toEqual([]);
    expect(bed.lines).toEqual(['info stream opened', 'info client opened no streams', 'info stream closed']);
  });

  it('is over when the client goes, before its streams or after', async () => {
    const { bed, client, command } = await setup();
    const early = await SpdyClient.open(bed.port, '/exec/ns/p/c?command=a&output=1', 'v4.channel.k8s.io');
    early.raw.socket.destroy();
    client.raw.socket.destroy();
    await until(() => command.signal.aborted && bed.streams.size === 0);
  });

  it('drops output of a stream that the client has reset, and goes on', async () => {
    const { client, command } = await setup();
    client.raw.send(client.frames.rst(5));
    command.stdout.write(Buffer.alloc(4 << 20));
    command.stderr.write('still');
    await until(() => client.text(7) === 'still');
    command.end(0);
    await until(() => client.text(1) === SUCCESS);
  });

  it('holds the command back when the client reads nothing', async () => {
    const { client, command } = await setup();
    client.raw.socket.pause();
    expect(await command.writeUntilHeldBack()).toBeLessThan(48 << 20);
  });
});
