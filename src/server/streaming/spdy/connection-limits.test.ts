import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { settle } from '../../../testing/fake-clock.ts';
import { RST, type SpdyStream, STREAM_QUEUE } from './stream.ts';
import { Bed, collect, socketBed, waitUntil } from './testing/bed.ts';
import { ClientFrames } from './testing/client-frames.ts';

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

  it('asks the client every 2 s while paused: behind an API server it takes up to four writes to find out that it is gone', async () => {
    const bed = new Bed();
    const stream = await bed.open(1);
    await bed.clock.advance(10_000);
    expect(bed.received).toEqual([]);
    await bed.send(bed.frames.data(1, Buffer.alloc(2 * STREAM_QUEUE)));
    await bed.clock.advance(8500);
    expect(bed.receivedTypes).toEqual(['ping 2', 'ping 4', 'ping 6', 'ping 8']);
    stream.resume();
    await settle();
    await bed.clock.advance(8500);
    expect(bed.receivedTypes).toHaveLength(4);
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
