import { expect, it } from 'vitest';
import type { TaskUsage } from '../../providers/contract/index.ts';
import { sumKnown, total } from './totals.ts';

function task(overrides: Partial<TaskUsage> = {}): TaskUsage {
  return { timeMs: 1, cpu: { usageNanos: 10 }, memory: { workingSetBytes: 100, limitBytes: 1000 }, ...overrides };
}

it('adds up what all of them know', () => {
  expect(
    total([
      { task: task(), nanoCores: 1 },
      { task: task({ timeMs: 5 }), nanoCores: 2 },
    ]),
  ).toEqual({
    task: { timeMs: 5, cpu: { usageNanos: 20 }, memory: { workingSetBytes: 200, limitBytes: 2000 } },
    nanoCores: 3,
  });
  expect(total([])).toBeUndefined();
});

it('does not know what one of them does not know', () => {
  const noCpu: TaskUsage = { timeMs: 1, memory: { workingSetBytes: 1 } };
  expect(total([{ task: task(), nanoCores: 1 }, { task: noCpu }])).toEqual({
    task: { timeMs: 1, memory: { workingSetBytes: 101 } },
  });
});

it('adds up disks as far as they are known', () => {
  expect(sumKnown([1, undefined, 2])).toBe(3);
  expect(sumKnown([undefined])).toBeUndefined();
});
