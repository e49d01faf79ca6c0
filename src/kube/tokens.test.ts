import { describe, expect, it } from 'vitest';
import { makePod } from '../testing/builders.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { Requester } from './client.ts';
import { KubeError } from './errors.ts';
import { TokenApi } from './tokens.ts';

function request(failures: readonly Error[]) {
  const clock = new FakeClock();
  const startMs = clock.now();
  const left = [...failures];
  const triesAtMs: number[] = [];
  const client: Pick<Requester, 'request'> = {
    // Whoever asks names what the path answers with.
    request: async <T>() => {
      triesAtMs.push(clock.now() - startMs);
      const failure = left.shift();
      if (failure !== undefined) throw failure;
      return { status: { token: 'secret', expirationTimestamp: '2026-01-02T03:04:05Z' } } as T;
    },
  };
  const abort = new AbortController();
  const token = new TokenApi(client, clock).request(makePod(), 'default', { signal: abort.signal });
  token.catch(() => undefined);
  return { clock, token, triesAtMs, abort };
}

const forbidden = (): Error =>
  new KubeError(403, { reason: 'Forbidden' }, 'no relationship found between node and this object');

describe('a token for a pod', () => {
  it('is had at once', async () => {
    const { token, triesAtMs } = request([]);
    expect(await token).toEqual({ token: 'secret', expiresAtMs: Date.parse('2026-01-02T03:04:05Z') });
    expect(triesAtMs).toEqual([0]);
  });

  it('is asked for again while the Node authorizer does not know the pod yet', async () => {
    const { clock, token, triesAtMs } = request([forbidden(), forbidden()]);
    await clock.advance(1_000);
    expect(await token).toMatchObject({ token: 'secret' });
    expect(triesAtMs).toEqual([0, 50, 150]);
  });

  it('is not to be had when that does not change', async () => {
    const { clock, token, triesAtMs } = request(Array.from({ length: 9 }, forbidden));
    await clock.advance(10_000);
    await expect(token).rejects.toMatchObject({ status: 403 });
    expect(triesAtMs).toEqual([0, 50, 150, 350, 750, 1550]);
  });

  it('is not asked for again after another failure, nor when nobody waits any more', async () => {
    const absent = request([new KubeError(404, {}, 'not found')]);
    await expect(absent.token).rejects.toMatchObject({ status: 404 });
    expect(absent.triesAtMs).toEqual([0]);
    const { clock, token, triesAtMs, abort } = request([forbidden()]);
    await clock.advance(10);
    abort.abort(new Error('over'));
    await clock.advance(1_000);
    await expect(token).rejects.toThrow();
    expect(triesAtMs).toEqual([0]);
  });
});
