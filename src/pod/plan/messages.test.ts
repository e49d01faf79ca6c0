import { describe, expect, it } from 'vitest';
import { exited, makeContainer, makeObservedContainer, makePod, running } from '../../testing/builders.ts';
import { READY, sandbox, snapshot } from '../../testing/plan-setup.ts';
import type { Plan } from './actions.ts';
import { withMessage, withMessages, withWords } from './messages.ts';
import type { Snapshot } from './snapshot.ts';

const NEXT: Plan = { actions: [{ type: 'stopSandbox' }] };
const BOTH = { files: true, logs: true };
const PATH = { terminationMessagePath: '/dev/termination-log' };
const FALLBACK = { terminationMessagePolicy: 'FallbackToLogsOnError' };

const pod = (container: object) => makePod({ spec: { containers: [makeContainer('c', container)] } });

function reads(overrides: Partial<Snapshot>, sources = BOTH): string[] {
  const { actions } = withMessages(() => NEXT, sources)(snapshot({ pod: pod(PATH), ...overrides }));
  return actions.map((action) =>
    'attempt' in action && 'container' in action ? `${action.container}#${action.attempt}` : action.type,
  );
}

const ended = makeObservedContainer('c', exited(1));
const later = makeObservedContainer('c', exited(0), { attempt: 1 });

describe('messages of ended containers', () => {
  it('are read before anything else, of every incarnation', () => {
    expect(reads({ observed: sandbox(ended, later) })).toEqual(['c#0', 'c#1']);
    expect(reads({ observed: sandbox(makeObservedContainer('c', running())) })).toEqual(['stopSandbox']);
  });

  it('are read once', () => {
    const memory = { ...READY, messages: new Map([['c#0', '']]) };
    expect(reads({ observed: sandbox(ended), memory })).toEqual(['stopSandbox']);
    expect(reads({ observed: sandbox(ended, later), memory })).toEqual(['c#1']);
  });

  it('are read while the pod is being stopped, but not for an object that is gone', () => {
    const observed = sandbox(ended);
    expect(reads({ observed, stop: { type: 'delete', graceSeconds: 30 } })).toEqual(['c#0']);
    expect(reads({ observed, stop: { type: 'removed', graceSeconds: 1 } })).toEqual(['stopSandbox']);
    expect(reads({ observed, pod: undefined })).toEqual(['stopSandbox']);
  });

  it('of containers that the pod does not have are not read', () => {
    expect(reads({ observed: sandbox(makeObservedContainer('x', exited(1))) })).toEqual(['stopSandbox']);
  });

  it.each([
    [PATH, { files: false, logs: true }, false],
    [FALLBACK, { files: false, logs: true }, true],
    [FALLBACK, { files: true, logs: false }, false],
    [{}, BOTH, false],
    [{ terminationMessagePath: '' }, BOTH, false],
  ])('are read where there is something to read: %j with %j', (container, sources, isRead) => {
    const overrides = { pod: pod(container), observed: sandbox(ended) };
    expect(reads(overrides, sources)).toEqual([isRead ? 'c#0' : 'stopSandbox']);
  });
});

it('what a container said follows what the backend says of its end', () => {
  const own = makeObservedContainer('c', exited(128, { message: 'broken' }));
  const states = withWords(
    sandbox(own, later),
    new Map([
      ['c#0', 'bye'],
      ['c#1', 'done'],
    ]),
  )?.containers;
  expect(states?.map(({ state }) => 'message' in state && state.message)).toEqual(['broken: bye', 'done']);
  expect(withWords(sandbox(own), new Map([['c#0', '']]))?.containers).toEqual([own]);
});

it('messages go with their incarnations', () => {
  const messages = new Map([
    ['c#0', 'old'],
    ['c#1', 'new'],
  ]);
  expect([...withMessage(messages, 'c#2', 'newest', sandbox(later))]).toEqual([
    ['c#1', 'new'],
    ['c#2', 'newest'],
  ]);
});
