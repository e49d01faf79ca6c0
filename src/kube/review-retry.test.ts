import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { ApiUnreachable, KubeError } from './errors.ts';
import { askWithRetries } from './review-retry.ts';

function ask(failures: readonly Error[]) {
  const clock = new FakeClock();
  const startMs = clock.now();
  const left = [...failures];
  const triesAtMs: number[] = [];
  const abort = new AbortController();
  const answer = askWithRetries(
    () => {
      triesAtMs.push(clock.now() - startMs);
      const failure = left.shift();
      return failure === undefined ? Promise.resolve('yes') : Promise.reject(failure);
    },
    { clock, random: () => 0, signal: abort.signal },
  );
  answer.catch(() => undefined);
  return { clock, answer, triesAtMs, abort };
}

const overloaded = (): Error => new KubeError(429, {}, 'slow down');

describe('retries of reviews (reference 11.12)', () => {
  it('are five tries, each pause half as long again', async () => {
    const { clock, answer, triesAtMs } = ask(Array.from({ length: 9 }, overloaded));
    await clock.advance(60_000);
    await expect(answer).rejects.toThrow('slow down');
    expect(triesAtMs).toEqual([0, 500, 1250, 2375, 4062.5]);
  });

  it('end with the first answer', async () => {
    const { clock, answer, triesAtMs } = ask([overloaded(), overloaded()]);
    await clock.advance(60_000);
    expect(await answer).toBe('yes');
    expect(triesAtMs).toEqual([0, 500, 1250]);
  });

  const reset = new ApiUnreachable('cut', { cause: Object.assign(new Error('x'), { code: 'ECONNRESET' }) });
  const refused = new ApiUnreachable('no', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) });
  it.each([
    ['a broken server', new KubeError(500, { reason: 'InternalError' }, 'x'), 2],
    ['a server that was too slow', new KubeError(504, { reason: 'Timeout' }, 'x'), 2],
    ['a server that says when to come again', new KubeError(503, {}, 'x', 1_000), 2],
    ['a connection that was cut', reset, 2],
    ['a server that says no', new KubeError(403, { reason: 'Forbidden' }, 'x'), 1],
    ['a server that is not there', refused, 1],
    ['a fault of our own', new TypeError('x'), 1],
  ])('%s: %#', async (_name, failure, tries) => {
    const { clock, answer, triesAtMs } = ask([failure]);
    await clock.advance(60_000);
    if (tries === 1) await expect(answer).rejects.toBe(failure);
    else expect(await answer).toBe('yes');
    expect(triesAtMs).toHaveLength(tries);
  });

  it('do not outlive who asked', async () => {
    const { answer, abort, triesAtMs } = ask([overloaded()]);
    await settle();
    abort.abort(new Error('gone'));
    await expect(answer).rejects.toThrow('gone');
    expect(triesAtMs).toHaveLength(1);
  });
});
