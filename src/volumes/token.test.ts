import { beforeEach, describe, expect, it, vi } from 'vitest';
import { makePod } from '../testing/builders.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { PodTokens, type RequestToken, type TokenRequestInput } from './token.ts';

const HOUR_MS = 3_600_000;
const { signal } = new AbortController();
const INPUT: TokenRequestInput = { pod: makePod(), serviceAccount: 'default', audiences: [], expirationSeconds: 3600 };

// token_manager.go in the kubelet; reference 9.5.
describe('tokens of a pod', () => {
  let clock: FakeClock;
  let granted: { ttlMs: number; skewMs: number };
  let failure: Error | undefined;
  let jitter: number;
  const onRenewalFailed = vi.fn();
  let requests: number;
  const requestToken: RequestToken = async ({ expirationSeconds }) => {
    if (failure !== undefined) throw failure;
    requests++;
    const ttlMs = Math.min(granted.ttlMs, expirationSeconds * 1000);
    return { token: `token-${requests}`, expiresAtMs: clock.now() + granted.skewMs + ttlMs };
  };
  let tokens: PodTokens;

  beforeEach(() => {
    clock = new FakeClock();
    granted = { ttlMs: Number.POSITIVE_INFINITY, skewMs: 0 };
    failure = undefined;
    jitter = 0;
    requests = 0;
    onRenewalFailed.mockClear();
    tokens = new PodTokens({ clock, requestToken, random: () => jitter, onRenewalFailed });
  });

  const get = (input = INPUT): Promise<string> => tokens.get(input, { signal });

  it('are requested once and renewed at 80 % of their life', async () => {
    const start = clock.now();
    expect(await get()).toBe('token-1');
    expect(tokens.renewAtMs).toBe(start + 0.8 * HOUR_MS);
    await clock.advance(0.8 * HOUR_MS - 1);
    expect(await get()).toBe('token-1');
    await clock.advance(1);
    expect(await get()).toBe('token-2');
    expect(tokens.renewAtMs).toBe(start + 1.6 * HOUR_MS);
  });

  it('are renewed up to ten seconds early, so that pods made together do not ask together', async () => {
    jitter = 0.999_999_999;
    await get();
    expect(tokens.renewAtMs).toBeCloseTo(clock.now() + 0.8 * HOUR_MS - 10_000, 0);
  });

  it('are renewed every day even when they live for a year', async () => {
    await get({ ...INPUT, expirationSeconds: 365 * 24 * 3600 });
    expect(tokens.renewAtMs).toBe(clock.now() + 24 * HOUR_MS);
  });

  it('follow a server that grants less than was asked for', async () => {
    granted.ttlMs = 600_000;
    await get();
    expect(tokens.renewAtMs).toBe(clock.now() + 480_000);
  });

  it.each([
    ['ahead', 2 * HOUR_MS],
    ['behind', -2 * HOUR_MS],
  ])('are renewed in time when the clock of the server is %s', async (_, skewMs) => {
    granted.skewMs = skewMs;
    await get();
    expect(tokens.renewAtMs).toBe(clock.now() + 0.8 * HOUR_MS);
  });

  it('differ by service account, audience and lifetime', async () => {
    expect(await get()).toBe('token-1');
    expect(await get({ ...INPUT, audiences: ['vault'] })).toBe('token-2');
    expect(await get({ ...INPUT, expirationSeconds: 600 })).toBe('token-3');
    expect(await get()).toBe('token-1');
    expect(tokens.renewAtMs).toBe(clock.now() + 480_000);
  });

  it('go on while they have not expired when a renewal fails, which is tried again every minute', async () => {
    await get();
    await clock.advance(0.8 * HOUR_MS);
    failure = new Error('connection refused');
    expect(await get()).toBe('token-1');
    expect(onRenewalFailed).toHaveBeenCalledExactlyOnceWith(INPUT.pod, failure);
    expect(tokens.renewAtMs).toBe(clock.now() + 60_000);
    expect(await get(), 'not asked again before that').toBe('token-1');
    expect(onRenewalFailed).toHaveBeenCalledOnce();
    await clock.advance(60_000);
    failure = undefined;
    expect(await get()).toBe('token-2');
  });

  it('are not used after they have expired', async () => {
    await get();
    failure = new Error('connection refused');
    await clock.advance(HOUR_MS);
    await expect(get()).rejects.toThrow('token expired and refresh failed: connection refused');
  });

  it('say why the first one could not be had, and nothing is due then', async () => {
    failure = new Error('serviceaccounts "default" not found');
    await expect(get()).rejects.toThrow('failed to fetch token: serviceaccounts "default" not found');
    expect(tokens.renewAtMs).toBeUndefined();
  });

  it('leave an aborted request as it is', async () => {
    const controller = new AbortController();
    controller.abort();
    failure = controller.signal.reason;
    await expect(tokens.get(INPUT, { signal: controller.signal })).rejects.toBe(controller.signal.reason);
  });
});
