import { type Duplex, duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { settle } from '../../src/testing/fake-clock.ts';
import { RelayStream } from './relay-stream.ts';

function frame(stream: 1 | 2, text: string): Buffer {
  const header = Buffer.from([stream, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

function relayed(): { readonly stream: RelayStream; readonly near: Duplex; readonly engine: Duplex } {
  const [near, engine] = duplexPair();
  const stream = new RelayStream(near);
  stream.on('error', () => {});
  engine.on('error', () => {});
  return { stream, near, engine };
}

describe('a connection through a relay', () => {
  it('stands when the relay says so, with the PID to end it by; data is what comes on standard output', async () => {
    const { stream, engine } = relayed();
    engine.write(
      Buffer.concat([frame(2, 'open '), frame(2, '17\n'), frame(1, 'hello '), frame(2, 'noise'), frame(1, 'you')]),
    );
    expect(await stream.opened).toBe(17);
    engine.end();
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('hello you');
  });

  it('loses nothing that comes before the word that it stands: the engine keeps no order between the outputs', async () => {
    const { stream, engine } = relayed();
    engine.write(
      Buffer.concat([frame(1, 'ban'), frame(2, 'op'), frame(1, 'ner '), frame(2, 'en 17\n'), frame(1, 'more')]),
    );
    expect(await stream.opened).toBe(17);
    engine.end();
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('banner more');
  });

  it('gives up when much comes before that word', async () => {
    const { stream, near, engine } = relayed();
    engine.write(frame(1, 'x'.repeat(300_000)));
    await settle();
    expect(near.isPaused()).toBe(false); // or the word would never come
    engine.write(frame(1, 'x'.repeat(900_000)));
    await settle();
    await expect(stream.opened).rejects.toThrow('the relay sent data before it was connected');
  });

  it.each([
    ['refused\n', 'ConnectionRefused', 'connect: connection refused'],
    ['no nc\n', 'Internal', 'relayImage has to name one with sh and nc'],
    ['', 'Internal', 'the relay could not connect: it ended'],
  ])('comes to nothing when it ends with %j', async (words, code, message) => {
    const { stream, engine } = relayed();
    engine.end(frame(2, words));
    await expect(stream.opened).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    expect(stream.destroyed).toBe(true);
  });

  it("shows the engine's words when the command cannot be run", async () => {
    const { stream, engine } = relayed();
    engine.end(frame(1, 'OCI runtime exec failed: exec: "sh": not found\r\n'));
    await expect(stream.opened).rejects.toThrow('OCI runtime exec failed');
  });

  it('passes the end of the input on, and still takes the answer', async () => {
    const { stream, engine } = relayed();
    engine.write(frame(2, 'open 1\n'));
    await stream.opened;
    stream.end('question');
    expect(Buffer.concat(await engine.toArray()).toString()).toBe('question');
    engine.end(frame(1, 'answer'));
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('answer');
  });

  it('holds the engine back while nobody reads', async () => {
    const { stream, engine } = relayed();
    engine.write(frame(2, 'open 1\n'));
    await stream.opened;
    let written = 0;
    while (written < 200 && engine.write(frame(1, 'x'.repeat(16_384)))) {
      written++;
      await settle();
    }
    expect(written).toBeLessThan(20);
    expect(stream.readableLength).toBeLessThan(200_000);
    stream.destroy();
  });

  it('lets go of the engine when it is destroyed', async () => {
    const { stream, near } = relayed();
    stream.destroy();
    await expect(stream.opened).rejects.toMatchObject({ code: 'Internal' });
    expect(near.destroyed).toBe(true);
  });
});
