import { type Duplex, duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { settle } from '../../src/testing/fake-clock.ts';
import { SessionStreams, type SessionStreamsOptions } from './session-streams.ts';

function frame(type: number, text: string): Buffer {
  const content = Buffer.from(text);
  const header = Buffer.from([type, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
}

function setup(options: Partial<SessionStreamsOptions> = {}) {
  const [ours, engine] = duplexPair();
  ours.on('error', () => {});
  engine.on('error', () => {});
  const streams = new SessionStreams(ours, { terminal: false, onStdinEnd: (to) => to.end(), ...options });
  const text = { stdout: '', stderr: '' };
  return { streams, ours, engine, text };
}

function read({ streams, text }: ReturnType<typeof setup>): void {
  streams.stdout.on('data', (chunk) => {
    text.stdout += String(chunk);
  });
  streams.stderr?.on('data', (chunk) => {
    text.stderr += String(chunk);
  });
}

describe('the streams of a session', () => {
  it('end when the other side has ended and whoever opened them says so', async () => {
    const session = setup();
    read(session);
    session.engine.write(frame(1, 'out'));
    session.engine.end(frame(2, 'err'));
    expect(await session.streams.disconnected).toEqual({ type: 'eof' });
    expect(session.streams.stdout.readableEnded).toBe(false);
    session.streams.finish();
    await session.streams.read();
    expect(session.text).toEqual({ stdout: 'out', stderr: 'err' });
    expect(session.ours.destroyed).toBe(true);
    expect(session.streams.stdin?.destroyed).toBe(true);
  });

  it('hold the other side back while one output is not read', async () => {
    const { streams, engine } = setup();
    streams.stderr?.resume();
    const block = frame(1, 'x'.repeat(32 * 1024));
    let written = 0;
    for (; written < 1000 && engine.write(block); written++) await settle();
    expect(written).toBeLessThan(20);
    expect(streams.stdout.readableLength).toBeLessThan(256 * 1024);
    streams.stdout.resume();
    await settle();
    expect(engine.writableNeedDrain).toBe(false);
  });

  it('pass an error of the engine on, and nothing after it', async () => {
    const session = setup();
    read(session);
    session.engine.write(Buffer.concat([frame(1, 'out'), frame(3, 'disk full\n'), frame(1, 'more')]));
    expect(await session.streams.disconnected).toMatchObject({ type: 'broken', error: { message: 'disk full' } });
    await settle();
    expect(session.text.stdout).toBe('out');
  });

  it('are broken by an end in the middle of an output', async () => {
    const session = setup();
    read(session);
    session.engine.end(frame(1, 'half of it').subarray(0, 12));
    expect(await session.streams.disconnected).toMatchObject({ type: 'broken', isWhole: false });
  });

  it('are whole when only the input broke, unless something may still have been under way', async () => {
    const read1 = setup();
    read(read1);
    read1.ours.destroy(new Error('EPIPE'));
    expect(await read1.streams.disconnected).toMatchObject({ type: 'broken', isWhole: true });
    const unread = setup();
    unread.engine.write(frame(1, 'x'.repeat(512 * 1024)));
    await settle();
    unread.ours.destroy(new Error('EPIPE'));
    expect(await unread.streams.disconnected).toMatchObject({ type: 'broken', isWhole: false });
  });

  it('tell of the end of the input once, however it ends', async () => {
    for (const end of [
      (stdin: SessionStreams['stdin']) => stdin?.end('bye'),
      (stdin: SessionStreams['stdin']) => stdin?.destroy(),
      (stdin: SessionStreams['stdin']) => stdin?.destroy(new Error('gone')),
    ]) {
      const ends: Duplex[] = [];
      const { streams, ours } = setup({ onStdinEnd: (to) => ends.push(to) });
      end(streams.stdin);
      await settle();
      streams.finish();
      await settle();
      expect(ends).toEqual([ours]);
    }
  });
});

describe('a first output that may be the words of the engine', () => {
  const WORDS = 'OCI runtime exec failed: no such file: unknown\r\n';

  function asked(answer: boolean | Promise<boolean>) {
    const questions: string[] = [];
    const session = setup({
      isEngineSpeaking: async (text) => {
        questions.push(text);
        return answer;
      },
    });
    read(session);
    return { ...session, questions };
  }

  it('is kept back when it is', async () => {
    const session = asked(true);
    session.engine.end(frame(1, WORDS));
    expect(await session.streams.disconnected).toEqual({ type: 'eof' });
    session.streams.finish();
    await session.streams.read();
    expect(session.text.stdout).toBe('');
    expect(session.questions).toEqual([WORDS.trim()]);
  });

  it('is passed on when it is not, before what follows', async () => {
    const answer = Promise.withResolvers<boolean>();
    const session = asked(answer.promise);
    session.engine.write(frame(1, WORDS));
    await settle();
    session.engine.end(frame(1, 'more'));
    await settle();
    expect(session.text.stdout).toBe('');
    answer.resolve(false);
    await session.streams.disconnected;
    session.streams.finish();
    await session.streams.read();
    expect(session.text.stdout).toBe(`${WORDS}more`);
  });

  it('is recognized in pieces', async () => {
    const session = asked(true);
    const bytes = frame(1, WORDS);
    for (const at of [0, 3, 8, 20]) {
      session.engine.write(bytes.subarray(at, { 0: 3, 3: 8, 8: 20, 20: bytes.length }[at]));
      await settle();
    }
    expect(session.questions).toEqual([WORDS.trim()]);
  });

  it.each([
    ['ends otherwise', [frame(1, 'hello\n')]],
    ['comes on standard error', [frame(2, WORDS)]],
    ['is long', [frame(1, `${'x'.repeat(5000)}\r\n`)]],
    ['comes later', [frame(1, 'first'), frame(1, WORDS)]],
  ])('is not asked about when it %s', async (_, frames) => {
    const session = asked(true);
    for (const each of frames) {
      session.engine.write(each);
      await settle();
    }
    expect(session.questions).toEqual([]);
    expect(session.text.stdout + session.text.stderr).toHaveLength(
      frames.reduce((sum, { length }) => sum + length - 8, 0),
    );
  });
});
