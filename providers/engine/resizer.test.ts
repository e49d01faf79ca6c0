import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../../src/testing/fake-clock.ts';
import type { TerminalSize } from '../contract/index.ts';
import { Resizer } from './resizer.ts';

function size(columns: number, rows = 24): TerminalSize {
  return { columns, rows };
}

function setup(): {
  readonly resizer: Resizer;
  readonly clock: FakeClock;
  readonly abort: AbortController;
  readonly told: number[];
  answer(error?: Error): Promise<void>;
} {
  const clock = new FakeClock();
  const abort = new AbortController();
  const told: number[] = [];
  const waiting: PromiseWithResolvers<void>[] = [];
  const tell = ({ columns }: TerminalSize): Promise<void> => {
    told.push(columns);
    const call = Promise.withResolvers<void>();
    waiting.push(call);
    return call.promise;
  };
  return {
    resizer: new Resizer(tell, clock, { signal: abort.signal }),
    clock,
    abort,
    told,
    answer: async (error) => {
      const call = waiting.shift();
      if (error === undefined) call?.resolve();
      else call?.reject(error);
      await settle();
    },
  };
}

describe('sizes of a terminal', () => {
  it('are told one at a time, the newest after the one under way', async () => {
    const { resizer, told, answer } = setup();
    for (const columns of [80, 81, 82]) resizer.resize(size(columns));
    expect(told).toEqual([80]);
    await answer();
    expect(told).toEqual([80, 82]);
    await answer();
    resizer.resize(size(83));
    expect(told).toEqual([80, 82, 83]);
  });

  it('are left out while they are nothing', () => {
    const { resizer, told } = setup();
    resizer.resize(size(0, 0));
    resizer.resize(size(80, 0));
    expect(told).toEqual([]);
  });

  it('are told again while there is no terminal yet, and given up at last', async () => {
    const { resizer, told, answer, clock } = setup();
    resizer.resize(size(80));
    await answer(new Error('not running'));
    expect(told).toEqual([80]);
    await clock.advance(10);
    expect(told).toEqual([80, 80]);
    for (let tries = 0; tries < 50; tries++) {
      await answer(new Error('not running'));
      await clock.advance(1000);
    }
    expect(told).toHaveLength(20);
  });

  it('are forgotten when the session is over', async () => {
    const { resizer, told, answer, clock, abort } = setup();
    resizer.resize(size(80));
    await answer(new Error('not running'));
    abort.abort();
    await clock.advance(1000);
    resizer.resize(size(90));
    expect(told).toEqual([80]);
  });
});
