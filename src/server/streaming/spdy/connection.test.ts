import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../../../testing/fake-clock.ts';
import { SpdyConnection, type SpdyOptions } from './connection.ts';
import { FIRST_REPLY_BLOCK, NEXT_REPLY_BLOCK } from './headers.ts';
import { RST, type SpdyStream, SpdyStreamReset, STREAM_QUEUE } from './stream.ts';
import { ClientFrames, type ServerFrame, serverFrames } from './testing/client-frames.ts';

/** A client on one end of a pair, the connection on the other. */
class Bed {
  readonly frames = new ClientFrames();
  readonly clock = new FakeClock();
  readonly streams: SpdyStream[] = [];
  readonly client: Duplex;
  readonly socket: Duplex;
  readonly connection: SpdyConnection;
  #received: Buffer[] = [];

  constructor(options: Partial<SpdyOptions> & { readonly head?: Buffer } = {}) {
    [this.client, this.socket] = duplexPair();
    this.client.on('data', (chunk: Buffer) => this.#received.push(chunk));
    this.connection = new SpdyConnection(this.socket, options.head ?? Buffer.alloc(0), {
      clock: this.clock,
      onStream: (stream) => void this.streams.push(stream),
      ...options,
    });
  }

  async send(...frames: Buffer[]): Promise<void> {
    this.client.write(Buffer.concat(frames));
    await settle();
  }

  async open(id: number, headers: Record<string, string> = {}): Promise<SpdyStream> {
    await this.send(this.frames.synStream(id, headers));
    const stream = this.streams.at(-1);
    if (stream?.id !== id) throw new Error(`stream ${id} did not come`);
    return stream;
  }

  get received(): ServerFrame[] {
    return serverFrames(Buffer.concat(this.#received));
  }

  get receivedTypes(): string[] {
    return this.received.map((frame) => ('id' in frame ? `${frame.type} ${frame.id}` : frame.type));
  }

  dataOf(id: number): string {
    const pieces = this.received.map((frame) => (frame.type === 'data' && frame.id === id ? frame.payload : ''));
    return pieces.join('');
  }
}

function collect(stream: Duplex): { text: string; ended: boolean; error?: Error } {
  const seen: { text: string; ended: boolean; error?: Error } = { text: '', ended: false };
  stream.on('data', (chunk: Buffer) => {
    seen.text += chunk.toString('latin1');
  });
  stream.on('end', () => {
    seen.ended = true;
  });
  stream.on('error', (error) => {
    seen.error = error;
  });
  return seen;
}

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

describe('back-pressure', () => {
  it('stops reading the socket when a stream has 1 MiB unread, and goes on when it is read', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    const chunk = Buffer.alloc(64 * 1024, 'x');
    let taken = 0;
    for (let round = 0; round < 40; round++) {
      bed.client.write(bed.frames.data(1, chunk), () => taken++);
      await settle();
    }
    expect(taken * chunk.length).toBeLessThanOrEqual(STREAM_QUEUE + chunk.length);
    expect(taken * chunk.length).toBeGreaterThan(STREAM_QUEUE - 2 * chunk.length);
    const seen = collect(stream);
    await settle();
    expect(seen.text).toHaveLength(40 * chunk.length);
  });

  it('counts tiny frames as what they cost', async () => {
    const bed = new Bed();
    await bed.open(1);
    const frame = bed.frames.data(1, 'x');
    const chunk = Buffer.alloc(frame.length * 1000, frame);
    let taken = 0;
    for (let round = 0; round < 50; round++) {
      bed.client.write(chunk, () => taken++);
      await settle();
    }
    // 4 in the queue, 64 KiB in the socket.
    expect(taken).toBeLessThan(13);
  });

  it('bounds what all streams have unread together', async () => {
    const bed = new Bed();
    let bytes = 0;
    for (let id = 1; id < 200; id += 2) {
      bed.client.write(bed.frames.synStream(id));
      bed.client.write(bed.frames.data(id, Buffer.alloc(900_000)), () => {
        bytes += 900_000;
      });
      await settle();
    }
    expect(bytes).toBeGreaterThan(31 << 20);
    expect(bytes).toBeLessThan(34 << 20);
    for (const stream of [...bed.streams]) stream.destroy();
    await settle();
    for (const stream of bed.streams) stream.destroy();
    await settle();
    expect(bytes).toBeGreaterThan(34 << 20);
  });

  it('goes on when the stream that was not read is destroyed', async () => {
    const bed = new Bed();
    const [blocked, other] = [await bed.open(1), await bed.open(3)];
    const seen = collect(other);
    await bed.send(bed.frames.data(1, Buffer.alloc(2 * STREAM_QUEUE)));
    await bed.send(bed.frames.data(3, 'behind'));
    expect(seen.text).toBe('');
    blocked.destroy();
    await settle();
    expect(seen.text).toBe('behind');
  });

  it('asks the client every 3 s while paused, to find out that it is gone', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    await bed.clock.advance(10_000);
    expect(bed.received).toEqual([]);
    await bed.send(bed.frames.data(1, Buffer.alloc(2 * STREAM_QUEUE)));
    await bed.clock.advance(7000);
    expect(bed.receivedTypes).toEqual(['ping 2', 'ping 4']);
    stream.resume();
    await settle();
    await bed.clock.advance(7000);
    expect(bed.receivedTypes).toHaveLength(2);
  });

  it('holds a writer back when the client does not read, each stream for itself', async () => {
    const { client, connection, streams } = await socketBed();
    client.pause();
    const frames = new ClientFrames();
    client.write(Buffer.concat([frames.synStream(1), frames.synStream(3)]));
    await waitUntil(() => streams.length === 2);
    const [first, second] = streams as [SpdyStream, SpdyStream]; // two, just counted
    const chunk = Buffer.alloc(256 * 1024);
    let written = 0;
    // The kernel takes some megabytes.
    while (first.write(chunk) && written < 64 << 20) {
      written += chunk.length;
      await settle();
    }
    expect(written).toBeLessThan(64 << 20);
    expect(second.write('small')).toBe(true);
    client.resume();
    await once(first, 'drain');
    client.destroy();
    await connection.closed;
  });
});

describe('closing', () => {
  it('resets what is open, says GOAWAY, ends, and waits for the client', async () => {
    const bed = new Bed();
    const [open, done] = [await bed.open(1), await bed.open(3)];
    open.write('last words');
    done.end();
    await bed.send(bed.frames.fin(3));
    const closed = bed.connection.close();
    await settle();
    expect(bed.receivedTypes).toEqual(['synReply 1', 'data 1', 'synReply 3', 'data 3', 'rst 1', 'goAway']);
    expect(bed.received.at(-1)).toEqual({ type: 'goAway', lastId: 3, status: 0 });
    expect(bed.client.readableEnded).toBe(true);
    expect(open.errored).toBeNull();
    await bed.send(bed.frames.data(1, 'ignored'));
    expect(bed.socket.destroyed).toBe(false);
    bed.client.end();
    await closed;
    expect(bed.connection.signal.aborted).toBe(true);
  });

  it('waits 5 s at most', async () => {
    const bed = new Bed();
    await bed.open(1);
    const closed = bed.connection.close();
    await bed.clock.advance(4999);
    expect(bed.socket.destroyed).toBe(false);
    await bed.clock.advance(1);
    await closed;
    expect(bed.socket.destroyed).toBe(true);
  });

  it('discards what blocked the socket', async () => {
    const bed = new Bed();
    await bed.open(1);
    await bed.send(bed.frames.data(1, Buffer.alloc(2 * STREAM_QUEUE)));
    void bed.connection.close(); // never rejects
    bed.client.write(Buffer.alloc(1 << 20));
    bed.client.end();
    await bed.connection.closed;
  });

  it('is what a signal does, also one that has been aborted', async () => {
    for (const early of [true, false]) {
      const controller = new AbortController();
      if (early) controller.abort(new Error('shutdown'));
      const bed = new Bed({ signal: controller.signal });
      await settle();
      if (!early) controller.abort(new Error('shutdown'));
      await settle();
      expect(bed.receivedTypes).toEqual(['goAway']);
      expect(bed.connection.signal.reason).toMatchObject({ message: 'shutdown' });
      bed.client.end();
      await bed.connection.closed;
    }
  });

  it('by the client: GOAWAY ends the connection when its last stream is done', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    await bed.send(bed.frames.fin(1), bed.frames.goAway(), bed.frames.synStream(3));
    expect(bed.streams).toHaveLength(1);
    expect(bed.connection.signal.aborted).toBe(false);
    stream.end('result');
    await settle();
    expect(bed.receivedTypes).toEqual(['synReply 1', 'data 1', 'data 1', 'goAway']);
    bed.client.end();
    await bed.connection.closed;
  });

  it('by the client without a word destroys the streams with an error', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    const seen = collect(stream);
    bed.client.end();
    await bed.connection.closed;
    expect(seen.error).toBeInstanceOf(Error);
    expect(bed.connection.openStreams).toBe(0);
    expect(bed.connection.signal.reason).toMatchObject({ message: 'the client closed the connection' });
  });

  it('by an error of the socket tells the streams why', async () => {
    const bed = new Bed();
    const seen = collect(await bed.open(1));
    const blow = new Error('ECONNRESET');
    bed.socket.destroy(blow);
    await bed.connection.closed;
    await settle();
    expect(seen.error).toMatchObject({ message: 'connection lost', cause: blow });
  });

  it('leaves no timer behind', async () => {
    const bed = new Bed();
    await bed.open(1);
    await bed.send(bed.frames.data(1, Buffer.alloc(2 * STREAM_QUEUE)));
    bed.socket.destroy();
    await bed.connection.closed;
    const timers: number[] = [];
    const count = bed.clock.timer.bind(bed.clock);
    bed.clock.timer = (ms, callback) => {
      timers.push(ms);
      return count(ms, callback);
    };
    await bed.clock.advance(24 * 3600 * 1000);
    expect(timers).toEqual([]);
  });
});

describe('idleness', () => {
  const HOUR = 3600 * 1000;

  it('of 4 hours ends the connection', async () => {
    const bed = new Bed();
    await bed.open(1);
    await bed.clock.advance(3.9 * HOUR);
    expect(bed.connection.signal.aborted).toBe(false);
    await bed.clock.advance(0.4 * HOUR);
    expect(bed.connection.signal.reason).toMatchObject({ message: 'idle' });
  });

  it('is no idleness while the client pings or we write', async () => {
    const bed = new Bed({ idleTimeoutMs: HOUR });
    const stream = await bed.open(1);
    for (let round = 0; round < 10; round++) {
      await bed.clock.advance(0.9 * HOUR);
      if (round % 2 === 0) await bed.send(bed.frames.ping(1));
      else stream.write('x');
    }
    expect(bed.connection.signal.aborted).toBe(false);
  });
});

describe('what a client must not do', () => {
  it.each([
    ['open an even stream', (frames: ClientFrames) => [frames.synStream(2)]],
    ['open stream 0', (frames: ClientFrames) => [frames.synStream(0)]],
    ['open a stream twice', (frames: ClientFrames) => [frames.synStream(3), frames.synStream(3)]],
    ['go back', (frames: ClientFrames) => [frames.synStream(5), frames.synStream(3)]],
    ['speak another version', () => [Buffer.from('8002000100000000', 'hex')]],
    ['send garbage headers', (frames: ClientFrames) => [frames.control(1, Buffer.alloc(20))]],
  ])('%s: the connection ends with GOAWAY 1', async (_, frames) => {
    const bed = new Bed();
    await bed.send(...frames(bed.frames));
    expect(bed.received.at(-1)).toMatchObject({ type: 'goAway', status: 1 });
    expect(bed.connection.signal.reason).toMatchObject({ name: 'SpdyProtocolError' });
    bed.client.end();
    await bed.connection.closed;
  });

  it('open too many streams: those are refused, the others live', async () => {
    const bed = new Bed({ maxStreams: 2 });
    await bed.send(...[1, 3, 5].map((id) => bed.frames.synStream(id)));
    expect(bed.received).toEqual([{ type: 'rst', id: 5, status: RST.refusedStream }]);
    bed.streams[0]?.reset();
    await bed.open(7);
    expect(bed.connection.openStreams).toBe(2);
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

/** Over a real socket pair, for what depends on how a socket drains. */
async function socketBed(
  onStream: (stream: SpdyStream) => void = () => {},
): Promise<{ client: Socket; connection: SpdyConnection; streams: SpdyStream[] }> {
  const streams: SpdyStream[] = [];
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const client = connect(address.port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket]; // what the event carries
  server.close();
  const connection = new SpdyConnection(socket, Buffer.alloc(0), {
    clock: new FakeClock(),
    onStream: (stream) => {
      streams.push(stream);
      onStream(stream);
    },
  });
  return { client, connection, streams };
}

async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
