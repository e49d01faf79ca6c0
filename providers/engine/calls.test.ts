import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { EngineCalls, unlessSilent } from './calls.ts';

const never = () => new Promise<never>(() => {});

describe('a call to the engine', () => {
  it('that is not answered in time counts as an engine that could not be asked', async () => {
    const clock = new FakeClock();
    let asked: AbortSignal | undefined;
    const call = new EngineCalls(clock, 30_000).call(
      'list containers',
      { signal: new AbortController().signal },
      (signal) => {
        asked = signal;
        return never();
      },
    );
    const failed = expect(call).rejects.toMatchObject({
      code: 'Unavailable',
      message: 'the engine did not answer within 30 s when asked to list containers',
    });
    await clock.advance(30_000);
    await failed;
    expect(asked?.aborted).toBe(true);
  });

  it('ends with an AbortError as soon as the caller gives up', async () => {
    const caller = new AbortController();
    const call = new EngineCalls(new FakeClock(), 30_000).call('x', { signal: caller.signal }, never);
    caller.abort();
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('is not made for a caller that has given up already', async () => {
    const call = new EngineCalls(new FakeClock(), 1).call('x', { signal: AbortSignal.abort() }, () => {
      throw new Error('asked');
    });
    await expect(call).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('has no deadline any more when it was answered', async () => {
    const clock = new FakeClock();
    const signal = new AbortController().signal;
    const asked = await new EngineCalls(clock, 30_000).call('x', { signal }, async (abortSignal) => abortSignal);
    await clock.advance(60_000);
    expect(asked.aborted).toBe(false);
  });

  it('that opened a stream destroys it when the caller gives up', async () => {
    const caller = new AbortController();
    const answer = new PassThrough();
    const stream = await new EngineCalls(new FakeClock(), 1).open('x', { signal: caller.signal }, async () => answer);
    caller.abort();
    expect(stream.destroyed).toBe(true);
  });
});

describe('an answer that goes on', () => {
  it('is cut when nothing comes for too long, and only then', async () => {
    const clock = new FakeClock();
    const stream = new PassThrough();
    const seen: string[] = [];
    const read = (async () => {
      const chunks = unlessSilent(stream, { clock, silenceMs: 1_000, error: () => new Error('silent') });
      for await (const chunk of chunks) seen.push(Buffer.from(chunk).toString());
    })();
    const failed = expect(read).rejects.toThrow('silent');
    stream.write('a');
    await clock.advance(900);
    stream.write('b');
    await clock.advance(900);
    expect(stream.destroyed).toBe(false);
    await clock.advance(200);
    await failed;
    expect(seen).toEqual(['a', 'b']);
  });

  it('leaves no alarm behind when it ends', async () => {
    const clock = new FakeClock();
    const stream = new PassThrough();
    stream.end('a');
    const chunks = unlessSilent(stream, { clock, silenceMs: 1_000, error: () => new Error('silent') });
    for await (const chunk of chunks) expect(Buffer.from(chunk).toString()).toBe('a');
    await clock.advance(2_000);
    expect(stream.errored).toBeNull();
  });
});
