import { describe, expect, it } from 'vitest';
import { exited, makeObservedContainer, makeObservedPod, makePod, running } from '../../testing/builders.ts';
import { actions, NOW, READY, sandbox, snapshot } from '../../testing/plan-setup.ts';
import { planContainers } from './containers.ts';
import type { PodMemory } from './memory.ts';

const never = makePod({ spec: { restartPolicy: 'Never' } });

describe('a pod whose containers have ended', () => {
  const over = makeObservedContainer('c', exited(0));

  it('frees its sandbox and is finished then', () => {
    expect(actions({ pod: never, observed: sandbox(over) })).toEqual(['stopSandbox']);
    expect(
      planContainers(snapshot({ pod: never, observed: makeObservedPod({ state: 'stopped', containers: [over] }) })),
    ).toEqual({ actions: [], finished: true });
  });

  it('is not run again when the API says it is terminal and the backend has nothing (reference 17.1.7)', () => {
    expect(actions({ pod: makePod({ status: { phase: 'Succeeded' } }) })).toEqual([]);
  });
});

describe('a pod to be deleted', () => {
  const stop = { type: 'delete', graceSeconds: 30 } as const;
  const live = sandbox(
    makeObservedContainer('a', running()),
    makeObservedContainer('b', running()),
    makeObservedContainer('x', exited(0)),
  );
  const stops = new Map([
    ['a#0', { deadlineMs: NOW + 5_000, graceSeconds: 30 }],
    ['b#0', { deadlineMs: NOW + 5_000, graceSeconds: 30 }],
  ]);

  it('has all running containers stopped in parallel', () =>
    expect(actions({ stop, observed: live })).toEqual(['stop a#0 30s', 'stop b#0 30s']));

  it('gives a container at least two seconds (reference 2.10)', () => {
    expect(actions({ stop: { type: 'delete', graceSeconds: 1 }, observed: live })).toEqual([
      'stop a#0 2s',
      'stop b#0 2s',
    ]);
  });

  it('waits for the grace period and kills then', () => {
    expect(planContainers(snapshot({ stop, observed: live, memory: { ...READY, stops } }))).toEqual({
      actions: [],
      wakeAtMs: NOW + 5_000,
    });
    expect(actions({ stop, observed: live, memory: { ...READY, stops }, nowMs: NOW + 5_000 })).toEqual([
      'stop a#0 0s',
      'stop b#0 0s',
    ]);
  });

  it('is hurried only when its object is gone (oracle case 047)', () => {
    const memory = { ...READY, stops };
    expect(actions({ stop: { type: 'delete', graceSeconds: 3 }, observed: live, memory })).toEqual([]);
    expect(actions({ stop: { type: 'removed', graceSeconds: 3 }, observed: live, memory })).toEqual([
      'stop a#0 3s',
      'stop b#0 3s',
    ]);
  });

  it('ends its sandbox, writes the final status, cleans the backend, and only then deletes the object (reference 1.10)', () => {
    const dead = sandbox(makeObservedContainer('c', exited(143)));
    expect(actions({ stop, observed: dead })).toEqual(['stopSandbox']);
    const stopped = { ...dead, state: 'stopped' } as const;
    expect(actions({ stop, observed: stopped })).toEqual(['writeFinalStatus']);
    const memory = { ...READY, finalWritten: true };
    expect(actions({ stop, observed: stopped, memory })).toEqual(['removeSandbox']);
    expect(actions({ stop, memory })).toEqual(['deleteObject']);
    expect(actions({ stop, memory: { ...memory, deletedAtMs: NOW } })).toEqual([]);
  });

  it('is only cleaned when its object is already gone', () => {
    const gone = { type: 'removed', graceSeconds: 1 } as const;
    expect(actions({ stop: gone, observed: makeObservedPod({ state: 'stopped' }) })).toEqual(['removeSandbox']);
    expect(actions({ stop: gone })).toEqual(['forget']);
    expect(actions({ pod: undefined, stop: gone, observed: live })).toEqual(['stop a#0 2s', 'stop b#0 2s']);
  });

  it('has a sandbox that never came to be removed, not stopped: there is nothing to stop', () => {
    const memory = { ...READY, finalWritten: true };
    const halfMade = makeObservedPod({ state: 'pending' });
    expect(actions({ stop, observed: halfMade })).toEqual(['writeFinalStatus']);
    expect(actions({ stop, observed: halfMade, memory })).toEqual(['removeSandbox']);
    expect(actions({ pod: undefined, stop: { type: 'removed', graceSeconds: 1 }, observed: halfMade })).toEqual([
      'removeSandbox',
    ]);
    const ended = { ...READY, status: { phase: 'Succeeded' } };
    expect(actions({ pod: never, observed: halfMade, memory: ended })).toEqual(['removeSandbox']);
    const withDead = makeObservedPod({ state: 'pending', containers: [makeObservedContainer('c', exited(1))] });
    expect(actions({ stop, observed: withDead })).toEqual(['stopSandbox']);
  });

  it('ends even when nothing was ever made for it', () => expect(actions({ stop })).toEqual(['writeFinalStatus']));
});

describe('a rejected pod', () => {
  const memory: PodMemory = {
    ...READY,
    admission: { type: 'rejected', rejection: { reason: 'OutOfcpu', message: 'm' } },
  };
  it('gets nothing', () => expect(planContainers(snapshot({ memory }))).toEqual({ actions: [], finished: true }));
  it('loses what runs of it from before (reference 17.1.2)', () => {
    expect(actions({ memory, observed: sandbox(makeObservedContainer('c', running())) })).toEqual(['stop c#0 30s']);
  });
});
