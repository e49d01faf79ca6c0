import { describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.ts';
import { NodeAuthorizer } from './authz.ts';
import type { Requester } from './client.ts';

const user = { name: 'kube-apiserver', groups: ['system:masters'] };
const access = { verb: 'get', subresource: 'proxy' };
const { signal } = new AbortController();

function make(answers: (boolean | Error)[]) {
  const clock = new FakeClock();
  const asked: unknown[] = [];
  const request = async (call: { body?: unknown }): Promise<unknown> => {
    asked.push(call.body);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return { status: { allowed: answer } };
  };
  // One generic method stands in for the whole client.
  return {
    clock,
    asked,
    authorizer: new NodeAuthorizer({
      client: { request } as Requester,
      nodeName: 'n',
      allowedMs: 300_000,
      deniedMs: 30_000,
      clock,
      random: () => 0,
    }),
  };
}

describe('authorization of the kubelet API (reference 11.12)', () => {
  it('asks a SubjectAccessReview about the own node', async () => {
    const { authorizer, asked } = make([true]);
    expect(await authorizer.allowed(user, access, { signal })).toBe(true);
    expect(asked).toMatchObject([
      {
        spec: {
          user: 'kube-apiserver',
          groups: ['system:masters'],
          resourceAttributes: { verb: 'get', resource: 'nodes', subresource: 'proxy', name: 'n' },
        },
      },
    ]);
  });

  it('remembers a yes for five minutes and a no for thirty seconds', async () => {
    const { authorizer, asked, clock } = make([false, true, false]);
    expect(await authorizer.allowed(user, access, { signal })).toBe(false);
    await clock.advance(29_000);
    expect(await authorizer.allowed(user, access, { signal })).toBe(false);
    await clock.advance(2_000);
    expect(await authorizer.allowed(user, access, { signal })).toBe(true);
    await clock.advance(299_000);
    expect(await authorizer.allowed(user, access, { signal })).toBe(true);
    await clock.advance(2_000);
    expect(await authorizer.allowed(user, access, { signal })).toBe(false);
    expect(asked).toHaveLength(3);
  });

  it('keeps an answer no longer because somebody sets the clock back', async () => {
    const { authorizer, asked, clock } = make([true, false]);
    expect(await authorizer.allowed(user, access, { signal })).toBe(true);
    clock.set(clock.now() - 86_400_000);
    expect(await authorizer.allowed(user, access, { signal })).toBe(false);
    expect(asked).toHaveLength(2);
  });

  it('gives no answer when the API server cannot be asked, and keeps none', async () => {
    const { authorizer } = make([new Error('away'), true]);
    await expect(authorizer.allowed(user, access, { signal })).rejects.toThrow('away');
    expect(await authorizer.allowed(user, access, { signal })).toBe(true);
  });

  it('hands on what a token says about its user, and tells users apart by it', async () => {
    const { authorizer, asked } = make([true, false]);
    const account = { ...user, uid: 'u-1', extra: { 'authentication.kubernetes.io/pod-name': ['p'] } };
    expect(await authorizer.allowed(account, access, { signal })).toBe(true);
    expect(await authorizer.allowed({ ...account, uid: 'u-2' }, access, { signal })).toBe(false);
    expect(asked[0]).toMatchObject({ spec: { uid: 'u-1', extra: account.extra } });
  });

  it('does not believe an answer that contradicts itself', async () => {
    const request = () => Promise.resolve({ status: { allowed: true, denied: true } });
    const authorizer = new NodeAuthorizer({
      // One generic method stands in for the whole client.
      client: { request } as unknown as Requester,
      nodeName: 'n',
      allowedMs: 1,
      deniedMs: 1,
      clock: new FakeClock(),
      random: () => 0,
    });
    await expect(authorizer.allowed(user, access, { signal })).rejects.toThrow('both allows and denies');
  });

  it('tells users, groups, verbs and subresources apart', async () => {
    const { authorizer, asked } = make([true, false, false, false]);
    expect(await authorizer.allowed(user, access, { signal })).toBe(true);
    expect(await authorizer.allowed({ ...user, groups: [] }, access, { signal })).toBe(false);
    expect(await authorizer.allowed(user, { ...access, verb: 'create' }, { signal })).toBe(false);
    expect(await authorizer.allowed(user, { ...access, subresource: 'pods' }, { signal })).toBe(false);
    expect(asked).toHaveLength(4);
  });
});
