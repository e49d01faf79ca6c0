import { describe, expect, it } from 'vitest';
import { exited, makeObservedContainer, makeObservedPod, makePod, running, START_MS } from '../../testing/builders.ts';
import { NOW, READY, snapshot } from '../../testing/plan-setup.ts';
import type { Snapshot } from './snapshot.ts';
import { planUnit } from './unit.ts';

const onFailure = makePod({ spec: { restartPolicy: 'OnFailure' } });

function planned(overrides: Partial<Snapshot> = {}) {
  return planUnit(snapshot(overrides));
}

describe('a pod on a backend that runs whole pods', () => {
  const live = makeObservedPod({ containers: [makeObservedContainer('c', running())] });
  const ended = (code: number) =>
    makeObservedPod({ state: 'stopped', containers: [makeObservedContainer('c', exited(code))] });

  it('is launched once', () => {
    expect(planned().actions).toEqual([{ type: 'launchPod', attempt: 0 }]);
    expect(planned({ observed: live }).actions).toEqual([]);
  });

  it('waits after a failed launch', () => {
    const memory = { ...READY, sandbox: { reason: 'x', message: 'y', failures: 1, retryAtMs: NOW + 500 } };
    expect(planned({ memory })).toEqual({ actions: [], wakeAtMs: NOW + 500 });
  });

  it('is relaunched under the next attempt when its policy says so', () => {
    expect(planned({ observed: ended(1), pod: onFailure }).actions).toEqual([{ type: 'launchPod', attempt: 1 }]);
    expect(planned({ observed: ended(0), pod: onFailure })).toEqual({ actions: [], finished: true });
  });

  it('backs off between relaunches (reference 2.4)', () => {
    const memory = { ...READY, backoffs: new Map([['*', { delayMs: 10_000, updatedAtMs: START_MS }]]) };
    const nowMs = START_MS + 3_000;
    expect(planned({ observed: ended(1), memory, nowMs })).toEqual({
      actions: [{ type: 'showBackOff', container: '*', finishedAtMs: START_MS + 2_000 }],
      wakeAtMs: START_MS + 12_000,
    });
    expect(planned({ observed: ended(1), memory, nowMs: START_MS + 12_000 }).actions).toEqual([
      { type: 'launchPod', attempt: 1 },
    ]);
  });

  it('backs off also when the unit ends before anything ran', () => {
    const memory = { ...READY, backoffs: new Map([['*', { delayMs: 10_000, updatedAtMs: START_MS }]]) };
    const observed = makeObservedPod({ state: 'stopped', containers: [] });
    expect(planned({ observed, memory, nowMs: START_MS + 3_000 }).wakeAtMs).toBe(START_MS + 10_000);
  });

  it('is asked to stop again when nothing comes of the first request', () => {
    const stop = { type: 'delete', graceSeconds: 30 } as const;
    const memory = { ...READY, stops: new Map([['*#0', { graceSeconds: 30, deadlineMs: NOW - 20_000 }]]) };
    expect(planned({ stop, observed: live, memory }).actions).toEqual([{ type: 'stopPod', graceSeconds: 0 }]);
  });

  it('is stopped once, again only when its object is gone, then removed and deleted', () => {
    const stop = { type: 'delete', graceSeconds: 30 } as const;
    expect(planned({ stop, observed: live }).actions).toEqual([{ type: 'stopPod', graceSeconds: 30 }]);
    const memory = { ...READY, stops: new Map([['*#0', { graceSeconds: 30, deadlineMs: NOW + 30_000 }]]) };
    expect(planned({ stop, observed: live, memory }).actions).toEqual([]);
    expect(planned({ stop: { ...stop, graceSeconds: 2 }, observed: live, memory }).actions).toEqual([]);
    const gone = { type: 'removed', graceSeconds: 2 } as const;
    expect(planned({ stop: gone, observed: live, memory }).actions).toEqual([{ type: 'stopPod', graceSeconds: 2 }]);
    expect(planned({ stop, observed: ended(143) }).actions).toEqual([{ type: 'writeFinalStatus' }]);
    expect(planned({ stop, observed: ended(143), memory: { ...READY, finalWritten: true } }).actions).toEqual([
      { type: 'removePod' },
    ]);
    expect(planned({ stop, memory: { ...READY, finalWritten: true } }).actions).toEqual([{ type: 'deleteObject' }]);
  });
});
