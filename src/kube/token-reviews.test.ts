import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import type { ApiCall, Requester } from './client.ts';
import { TokenReviews } from './token-reviews.ts';

const { signal } = new AbortController();
const account = { username: 'system:serviceaccount:ns:sa', uid: 'u', groups: ['g'], extra: { k: ['v'] } };
const yes = { status: { authenticated: true, user: account } };
const no = { status: { authenticated: false } };

/** Answers are given one by one; a promise holds its answer back. */
function make(answers: unknown[], { cacheMs = 120_000 } = {}) {
  const clock = new FakeClock();
  const asked: ApiCall[] = [];
  const life = new AbortController();
  const request = async (call: ApiCall): Promise<unknown> => {
    asked.push(call);
    const answer: unknown = await answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const reviews = new TokenReviews({
    // One generic method stands in for the whole client.
    client: { request } as Requester,
    clock,
    random: () => 0,
    cacheMs,
    signal: life.signal,
  });
  return { reviews, clock, asked, life };
}

describe('review of bearer tokens (reference 11.12)', () => {
  it('says who the token belongs to, for the audience of the API server', async () => {
    const { reviews, asked } = make([yes]);
    expect(await reviews.review('t1', { signal })).toEqual({
      name: 'system:serviceaccount:ns:sa',
      uid: 'u',
      groups: ['g'],
      extra: { k: ['v'] },
    });
    expect(asked).toMatchObject([{ method: 'POST', path: '/apis/authentication.k8s.io/v1/tokenreviews' }]);
    expect(asked[0]?.body).toEqual({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token: 't1' },
    });
  });

  it('keeps an answer no longer because somebody sets the clock back', async () => {
    const { reviews, asked, clock } = make([yes, no]);
    expect(await reviews.review('t', { signal })).toBeDefined();
    clock.set(clock.now() - 86_400_000);
    expect(await reviews.review('t', { signal })).toBeUndefined();
    expect(asked).toHaveLength(2);
  });

  it('remembers a yes and a no for two minutes', async () => {
    const { reviews, clock, asked } = make([yes, no, no, yes]);
    for (const _time of ['first', 'again']) {
      expect(await reviews.review('good', { signal })).toBeDefined();
      expect(await reviews.review('bad', { signal })).toBeUndefined();
      await clock.advance(119_000);
    }
    expect(asked).toHaveLength(2);
    await clock.advance(2_000);
    expect(await reviews.review('good', { signal })).toBeUndefined();
    expect(await reviews.review('bad', { signal })).toBeDefined();
  });

  it('remembers nothing with a time of zero', async () => {
    const { reviews, asked } = make([yes, yes], { cacheMs: 0 });
    await reviews.review('t', { signal });
    await reviews.review('t', { signal });
    expect(asked).toHaveLength(2);
  });

  it('gives no answer when the API server cannot say, and keeps none', async () => {
    const { reviews } = make([new Error('away'), { status: { error: 'not now' } }, yes]);
    await expect(reviews.review('t', { signal })).rejects.toThrow('away');
    await expect(reviews.review('t', { signal })).rejects.toThrow('not now');
    expect(await reviews.review('t', { signal })).toBeDefined();
  });

  it('takes an answer without a name, or none at all, for a no', async () => {
    const { reviews } = make([{ status: { authenticated: true, user: {} } }, { status: { authenticated: true } }, {}]);
    for (const token of ['a', 'b', 'c']) expect(await reviews.review(token, { signal })).toBeUndefined();
  });

  it('asks once for all who bring the same token at the same time', async () => {
    const held = Promise.withResolvers<unknown>();
    const { reviews, asked } = make([held.promise]);
    const all = Promise.all(Array.from({ length: 50 }, () => reviews.review('t', { signal })));
    await settle();
    held.resolve(yes);
    expect(await all).toHaveLength(50);
    expect(asked).toHaveLength(1);
  });

  it('one who leaves does not take the answer from the others; the last one ends the question', async () => {
    const held = Promise.withResolvers<unknown>();
    const { reviews, asked } = make([held.promise]);
    const first = new AbortController();
    const second = new AbortController();
    const answers = [first, second].map((who) => reviews.review('t', { signal: who.signal }));
    for (const answer of answers) answer.catch(() => undefined);
    await settle();
    first.abort(new Error('gone'));
    await expect(answers[0]).rejects.toThrow('gone');
    expect(asked[0]?.signal.aborted).toBe(false);
    second.abort(new Error('gone too'));
    await expect(answers[1]).rejects.toThrow('gone too');
    expect(asked[0]?.signal.aborted).toBe(true);
  });

  it('waits thirty seconds at most, and not beyond the end of the node', async () => {
    const { reviews, clock, life } = make([new Promise(() => {}), new Promise(() => {})]);
    const slow = reviews.review('slow', { signal });
    slow.catch(() => undefined);
    await clock.advance(30_000);
    await expect(slow).rejects.toThrow('in time');
    const late = reviews.review('late', { signal });
    late.catch(() => undefined);
    await settle();
    life.abort(new Error('stopping'));
    await expect(late).rejects.toThrow('stopping');
  });

  it('of made-up tokens takes only some of the connections to the API server', async () => {
    const { reviews, asked } = make(Array.from({ length: 100 }, () => new Promise(() => {})));
    for (let i = 0; i < 100; i++) reviews.review(`t${i}`, { signal }).catch(() => undefined);
    await settle();
    expect(asked).toHaveLength(4);
  });
});
