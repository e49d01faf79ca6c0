import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settle } from '../../../testing/fake-clock.ts';
import { FIRST_REPLY_BLOCK, NEXT_REPLY_BLOCK } from './headers.ts';
import { RST, type SpdyStream, SpdyStreamReset } from './stream.ts';
import { Bed, collect, socketBed, waitUntil } from './testing/bed.ts';
import { ClientFrames } from './testing/client-frames.ts';

describe('a stream', () => {
  it('comes with its headers, and says nothing until it is accepted', async () => {
    const bed = new Bed();
    const stream = await bed.open(1, { streamType: 'error', port: '80' });
    expect([...stream.headers]).toEqual([
      ['streamtype', 'error'],
      ['port', '80'],
    ]);
    expect(bed.received).toEqual([]);
    stream.accept();
    stream.accept();
    await settle();
    expect(bed.received).toEqual([{ type: 'synReply', id: 1, block: FIRST_REPLY_BLOCK }]);
  });

  it('replies with the first block once per connection', async () => {
    const bed = new Bed();
    (await bed.open(1)).accept();
    (await bed.open(3)).accept();
    await settle();
    expect(bed.received).toEqual([
      { type: 'synReply', id: 1, block: FIRST_REPLY_BLOCK },
      { type: 'synReply', id: 3, block: NEXT_REPLY_BLOCK },
    ]);
  });

  it('is accepted by the first write, as data before the reply would be lost', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    stream.write('hello');
    await settle();
    expect(bed.receivedTypes).toEqual(['synReply 1', 'data 1']);
  });

  it('reads what came before anybody listened, and the end', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    await bed.send(bed.frames.data(1, 'early '), bed.frames.data(1, 'bird', { fin: true }));
    const seen = collect(stream);
    await settle();
    expect(seen).toEqual({ text: 'early bird', ended: true });
  });

  it('can be written after the client has finished, and read after we have', async () => {
    const bed = new Bed();
    const [first, second] = [await bed.open(1), await bed.open(3)];
    const seen = collect(second);
    await bed.send(bed.frames.fin(1));
    first.end('answer');
    second.end();
    await settle();
    await bed.send(bed.frames.data(3, 'still'), bed.frames.fin(3));
    expect(bed.dataOf(1)).toBe('answer');
    expect(seen).toEqual({ text: 'still', ended: true });
  });

  it('is freed when both sides have finished, read or not', async () => {
    const bed = new Bed();
    const [unread, read] = [await bed.open(1), await bed.open(3)];
    collect(read);
    await bed.send(bed.frames.fin(1), bed.frames.fin(3));
    unread.end();
    read.end();
    await settle();
    expect(bed.connection.openStreams).toBe(0);
    expect(bed.receivedTypes).not.toContain('rst 1');
  });

  it('that a client opens finished has nothing to read', async () => {
    const bed = new Bed();
    await bed.send(bed.frames.synStream(1, {}, { fin: true }));
    const seen = collect(bed.streams[0] as SpdyStream); // the one just opened
    await settle();
    expect(seen.ended).toBe(true);
  });

  it('sends several writes of one tick as one frame', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    for (let round = 0; round < 100; round++) stream.write(`${round},`);
    await settle();
    expect(bed.receivedTypes).toEqual(['synReply 1', 'data 1']);
    expect(bed.dataOf(1).split(',')).toHaveLength(101);
  });

  it('never sends a frame above 256 KiB', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    stream.end(Buffer.alloc(3_000_000, 'x'));
    await once(stream, 'finish');
    await settle();
    const sizes = bed.received.map((frame) => (frame.type === 'data' ? frame.payload.length : 0));
    expect(Math.max(...sizes)).toBe(256 * 1024);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(3_000_000);
  });
});

describe('resets', () => {
  it('of ours carry the code, once, and free the stream', async () => {
    const bed = new Bed();
    const [first, second] = [await bed.open(1), await bed.open(3)];
    first.reset(RST.refusedStream);
    first.reset();
    second.destroy();
    await settle();
    expect(bed.received).toEqual([
      { type: 'rst', id: 1, status: 3 },
      { type: 'rst', id: 3, status: 5 },
    ]);
    expect(bed.connection.openStreams).toBe(0);
  });

  it('of the client destroy the stream with an error that says so; nothing is answered', async () => {
    const bed = new Bed();
    const seen = collect(await bed.open(1));
    await bed.send(bed.frames.rst(1));
    expect(seen.error).toBeInstanceOf(SpdyStreamReset);
    expect(bed.received).toEqual([]);
  });

  it('of the client harm nobody when no one listens', async () => {
    const bed = new Bed();
    await bed.open(1);
    await bed.send(bed.frames.rst(1));
    expect(bed.connection.openStreams).toBe(0);
  });

  it('data for a stream that is gone is ignored', async () => {
    const bed = new Bed();
    (await bed.open(1)).reset();
    await bed.send(bed.frames.data(1, 'late'), bed.frames.fin(1), bed.frames.rst(1), bed.frames.data(7, 'never'));
    expect(bed.receivedTypes).toEqual(['rst 1']);
  });
});

describe('PING', () => {
  it('with an odd id is echoed, with an even id is an answer', async () => {
    let pings = 0;
    const bed = new Bed({ onPing: () => void pings++ });
    await bed.send(bed.frames.ping(1), bed.frames.ping(2), bed.frames.ping(0xffff_ffff));
    expect(bed.received).toEqual([
      { type: 'ping', id: 1 },
      { type: 'ping', id: 0xffff_ffff },
    ]);
    expect(pings).toBe(2);
  });

  it('answers that nobody reads end the connection', async () => {
    const { client, connection } = await socketBed();
    client.pause();
    const ping = new ClientFrames().ping(1);
    const flood = Buffer.alloc(ping.length * 100_000, ping);
    const ended = once(connection.signal, 'abort');
    client.on('error', () => {});
    for (let round = 0; round < 20; round++) client.write(flood);
    await ended;
    expect(connection.signal.reason).toMatchObject({ message: 'the client reads no answers' });
    client.destroy();
    await connection.closed;
  });
});

describe('whatever happens', () => {
  it('bytes read with the request are the first of the stream', async () => {
    const frames = new ClientFrames();
    const bed = new Bed({ head: Buffer.concat([frames.synStream(1), frames.data(1, 'he')]) });
    await bed.send(frames.data(1, 'llo'));
    const seen = collect(bed.streams[0] as SpdyStream); // opened by the head
    await settle();
    expect(seen.text).toBe('hello');
  });

  it('a handler that throws ends its own connection', async () => {
    const bed = new Bed({
      onStream: () => {
        throw new Error('bug');
      },
    });
    await bed.send(bed.frames.synStream(1));
    expect(bed.received.at(-1)).toMatchObject({ type: 'goAway', status: 2 });
    expect(bed.connection.signal.reason).toMatchObject({ message: 'bug' });
  });

  it('random bytes, cut anywhere, end the connection or wait for more', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...seeds())), { maxLength: 6 }),
        async (chunks) => {
          const bed = new Bed({ onStream: (stream) => void stream.on('data', () => {}).write('x') });
          for (const chunk of chunks) bed.client.write(Buffer.from(chunk));
          await new Promise((resolve) => setImmediate(resolve));
          bed.client.end();
          await bed.connection.closed;
          expect(bed.connection.openStreams).toBe(0);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('3000 streams one after another leave nothing', async () => {
    const { client, connection, streams } = await socketBed((stream) => void pipeline(stream, stream).catch(() => {}));
    const frames = new ClientFrames();
    let answers = '';
    client.on('data', (chunk: Buffer) => {
      answers += chunk.toString('latin1');
    });
    for (let id = 1; id < 6000; id += 2) {
      client.write(
        Buffer.concat([frames.synStream(id, { port: '80' }), frames.data(id, `echo ${id};`), frames.fin(id)]),
      );
    }
    await waitUntil(() => streams.length === 3000 && connection.openStreams === 0);
    await waitUntil(() => answers.includes('echo 5999;'));
    expect(answers.match(/echo \d+;/g)).toHaveLength(3000);
    client.destroy();
    await connection.closed;
  });
});

function seeds(): Buffer[] {
  const frames = new ClientFrames();
  return [frames.synStream(1), frames.data(1, 'x'), frames.fin(1), frames.rst(1), frames.ping(1), frames.goAway()];
}
