import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../../src/testing/fake-clock.ts';
import type { PodUid } from '../contract/index.ts';
import { OnDemand, type SandboxKey } from './on-demand.ts';

// Here UIDs are born.
const key = (uid: string, sandboxId = `${uid}-0`): SandboxKey => ({ uid: uid as PodUid, sandboxId });

function setUp(failures = 0) {
  const clock = new FakeClock();
  const made: string[] = [];
  const ended: string[] = [];
  let left = failures;
  const helpers = new OnDemand<string>({
    clock,
    make: async ({ sandboxId }) => {
      if (left-- > 0) throw new Error('not made');
      made.push(sandboxId);
      return sandboxId;
    },
    end: async (thing) => {
      ended.push(thing);
    },
  });
  return { clock, made, ended, helpers };
}

describe('helpers of pods', () => {
  it('are made once for all who need one at the same time, and one for each pod', async () => {
    const { made, helpers } = setUp();
    const borrowed = await Promise.all([helpers.borrow(key('a')), helpers.borrow(key('a')), helpers.borrow(key('b'))]);
    expect(borrowed.map(({ thing }) => thing)).toEqual(['a-0', 'a-0', 'b-0']);
    expect(made).toEqual(['a-0', 'b-0']);
  });

  it('end half a minute after the last use, not while one lasts', async () => {
    const { clock, ended, helpers } = setUp();
    const [first, second] = [await helpers.borrow(key('a')), await helpers.borrow(key('a'))];
    first.release();
    first.release();
    await clock.advance(60_000);
    expect(ended).toEqual([]);
    second.release();
    await clock.advance(29_000);
    const third = await helpers.borrow(key('a'));
    await clock.advance(60_000);
    expect(ended).toEqual([]);
    third.release();
    await clock.advance(30_000);
    expect(ended).toEqual(['a-0']);
  });

  it('end with their sandbox, when the pod has another one', async () => {
    const { ended, helpers } = setUp();
    await helpers.borrow(key('a', 'a-0'));
    expect((await helpers.borrow(key('a', 'a-1'))).thing).toBe('a-1');
    await settle();
    expect(ended).toEqual(['a-0']);
  });

  it('end with the pod, and with all others at the end', async () => {
    const { ended, helpers } = setUp();
    await Promise.all(['a', 'b', 'c'].map((uid) => helpers.borrow(key(uid))));
    await helpers.forget(key('b').uid);
    expect(ended).toEqual(['b-0']);
    await helpers.close();
    expect(ended).toEqual(['b-0', 'a-0', 'c-0']);
    await expect(helpers.borrow(key('a'))).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('are made anew after a making that failed, and after one that was no good', async () => {
    const { made, ended, helpers } = setUp(1);
    await expect(helpers.borrow(key('a'))).rejects.toThrow('not made');
    const { discard } = await helpers.borrow(key('a'));
    discard();
    await settle();
    await helpers.borrow(key('a'));
    expect(made).toEqual(['a-0', 'a-0']);
    expect(ended).toEqual(['a-0']);
  });
});
