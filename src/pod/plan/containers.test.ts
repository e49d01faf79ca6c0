import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObservedPod } from '../../../providers/contract/index.ts';
import {
  exited,
  makeContainer,
  makeObservedContainer,
  makeObservedPod,
  makePod,
  POD_UID,
  running,
  START_MS,
} from '../../testing/builders.ts';
import { planContainers } from './containers.ts';
import { EMPTY_MEMORY, type PodMemory } from './memory.ts';
import type { Snapshot } from './snapshot.ts';

const READY: PodMemory = { ...EMPTY_MEMORY, admission: { type: 'accepted' }, volumesDirty: false };
const NOW = START_MS + 60_000;

function snapshot(overrides: Partial<Snapshot> = {}): Snapshot {
  return {
    uid: POD_UID,
    pod: makePod(),
    stop: undefined,
    observed: undefined,
    memory: READY,
    nowMs: NOW,
    refreshAtMs: undefined,
    changed: new Set(),
    maxBackoffMs: 300_000,
    ...overrides,
  };
}

/** The plan as short texts: `start c#1`, `stop c#0 30s`. */
function actions(overrides: Partial<Snapshot> = {}): string[] {
  return planContainers(snapshot(overrides)).actions.map((action) => {
    switch (action.type) {
      case 'pullImage':
        return `pull ${action.container}`;
      case 'startContainer':
        return `start ${action.container}#${action.attempt}`;
      case 'stopContainer':
        return `stop ${action.container}#${action.attempt} ${action.graceSeconds}s`;
      case 'removeContainer':
        return `remove ${action.container}#${action.attempt}`;
      case 'ensureSandbox':
        return `sandbox ${action.attempt}`;
      case 'showBackOff':
        return `back-off ${action.container}`;
      default:
        return action.type;
    }
  });
}

const sandbox = (...containers: ObservedPod['containers']): ObservedPod => makeObservedPod({ containers });
const never = makePod({ spec: { restartPolicy: 'Never' } });
const finishedAtMs = START_MS + 2_000;

describe('a pod that should run', () => {
  it('gets its sandbox first', () => expect(actions()).toEqual(['sandbox 0']));

  it('waits for a sandbox that failed until its next try', () => {
    const memory = { ...READY, sandbox: { reason: 'x', message: 'y', failures: 1, retryAtMs: NOW + 500 } };
    expect(planContainers(snapshot({ memory }))).toEqual({ actions: [], wakeAtMs: NOW + 500 });
  });

  it('has its containers pulled and started in spec order once the sandbox is ready', () => {
    const pod = makePod({ spec: { containers: [makeContainer('b'), makeContainer('a')] } });
    expect(actions({ pod, observed: sandbox() })).toEqual(['pull b', 'start b#0', 'pull a', 'start a#0']);
  });

  it('is left alone while it runs', () =>
    expect(actions({ observed: sandbox(makeObservedContainer('c', running())) })).toEqual([]));

  it('starts a container that was made but not started under the same attempt', () => {
    expect(actions({ observed: sandbox(makeObservedContainer('c', { status: 'created' }, { attempt: 3 })) })).toEqual([
      'pull c',
      'start c#3',
    ]);
  });

  it('waits after a start that failed and left a container that never ran', () => {
    const observed = sandbox(makeObservedContainer('c', { status: 'created' }));
    const failure = { attempt: 0, reason: 'CreateContainerError', message: 'no', failures: 1, retryAtMs: NOW + 500 };
    expect(actions({ observed, memory: { ...READY, starts: new Map([['c', failure]]) } })).toEqual([]);
  });

  it('restarts at once after the first exit (reference 2.4)', () => {
    expect(actions({ observed: sandbox(makeObservedContainer('c', exited(1))) })).toEqual(['pull c', 'start c#1']);
  });

  it('shows CrashLoopBackOff once and waits from the exit on (reference 2.4)', () => {
    const observed = sandbox(makeObservedContainer('c', exited(1), { attempt: 1 }));
    const nowMs = finishedAtMs + 2_500;
    const clock = { delayMs: 10_000, updatedAtMs: START_MS };
    const first = planContainers(
      snapshot({ observed, nowMs, memory: { ...READY, backoffs: new Map([['c', clock]]) } }),
    );
    expect(first).toEqual({
      actions: [{ type: 'showBackOff', container: 'c', finishedAtMs }],
      wakeAtMs: finishedAtMs + 10_000,
    });
    const shown = planContainers(
      snapshot({
        observed,
        nowMs,
        memory: { ...READY, backoffs: new Map([['c', { ...clock, shownForMs: finishedAtMs }]]) },
      }),
    );
    expect(shown).toEqual({ actions: [], wakeAtMs: finishedAtMs + 10_000 });
  });

  it('counts restarts on from the status when the backend has lost the dead containers', () => {
    const memory: PodMemory = {
      ...READY,
      status: {
        phase: 'Running',
        containerStatuses: [
          {
            name: 'c',
            ready: true,
            restartCount: 4,
            image: 'i',
            imageID: '',
            containerID: 'docker://x',
            state: { running: {} },
          },
        ],
      },
    };
    expect(actions({ observed: sandbox(), memory })).toEqual(['pull c', 'start c#5']);
  });

  it('does not run a finished container twice when the backend has lost it', () => {
    const memory: PodMemory = {
      ...READY,
      status: {
        phase: 'Running',
        containerStatuses: [
          {
            name: 'c',
            ready: false,
            restartCount: 0,
            image: 'i',
            imageID: '',
            containerID: 'docker://x',
            state: { terminated: { exitCode: 0 } },
          },
        ],
      },
    };
    expect(actions({ pod: never, observed: sandbox(), memory })).toEqual(['stopSandbox']);
  });

  it('retries a start that left no container behind after its delay only', () => {
    const starts = new Map([
      ['c', { reason: 'CreateContainerError', message: 'm', failures: 1, retryAtMs: NOW + 1_000, attempt: 0 }],
    ]);
    expect(actions({ observed: sandbox(), memory: { ...READY, starts } })).toEqual([]);
    expect(actions({ observed: sandbox(), memory: { ...READY, starts }, nowMs: NOW + 1_000 })).toEqual([
      'pull c',
      'start c#0',
    ]);
  });

  it('asks for an image again only when its time has come (reference 2.5)', () => {
    const starts = new Map([['c', { reason: 'ErrImagePull', message: 'm', failures: 1, retryAtMs: NOW + 1_000 }]]);
    const memory = { ...READY, starts };
    expect(planContainers(snapshot({ observed: sandbox(), memory }))).toEqual({ actions: [], wakeAtMs: NOW + 1_000 });
    expect(actions({ observed: sandbox(makeObservedContainer('c', exited(1))), memory })).toEqual([]);
    expect(actions({ observed: sandbox(), memory, nowMs: NOW + 1_000 })).toEqual(['pull c', 'start c#0']);
  });

  it('keeps the newest dead incarnation (reference 7.9, oracle case 004)', () => {
    const dead = [0, 1, 2].map((attempt) => makeObservedContainer('c', exited(1), { attempt }));
    const live = makeObservedContainer('c', running(), { attempt: 3 });
    expect(actions({ observed: sandbox(...dead, live) })).toEqual(['remove c#1', 'remove c#0']);
    expect(actions({ pod: never, observed: sandbox(...dead) })).toEqual(['remove c#1', 'remove c#0']);
  });

  it('shows the exit itself for a moment before CrashLoopBackOff', () => {
    const observed = sandbox(makeObservedContainer('c', exited(1), { attempt: 1 }));
    const memory = { ...READY, backoffs: new Map([['c', { delayMs: 10_000, updatedAtMs: START_MS }]]) };
    expect(planContainers(snapshot({ observed, memory, nowMs: finishedAtMs + 100 }))).toEqual({
      actions: [],
      wakeAtMs: finishedAtMs + 2_500,
    });
  });

  it('replaces a container whose image was changed, whatever its policy (reference 0.3)', () => {
    const changed = new Set(['c']);
    const live = sandbox(makeObservedContainer('c', running()));
    expect(planContainers(snapshot({ pod: never, observed: live, changed })).actions).toEqual([
      {
        type: 'stopContainer',
        container: 'c',
        attempt: 0,
        graceSeconds: 30,
        why: 'Container c definition changed, will be restarted',
      },
    ]);
    const stops = new Map([['c#0', { deadlineMs: NOW, graceSeconds: 30 }]]);
    const dead = sandbox(makeObservedContainer('c', exited(0)));
    expect(actions({ pod: never, observed: dead, changed, memory: { ...READY, stops } })).toEqual([
      'pull c',
      'start c#1',
    ]);
    expect(actions({ pod: never, observed: dead, changed })).toEqual(['stopSandbox']);
  });

  it('refreshes volumes that this process has not filled', () => {
    const memory = { ...READY, volumesDirty: true };
    expect(actions({ observed: sandbox(makeObservedContainer('c', running())), memory })).toEqual(['refreshVolumes']);
  });

  it('gets a new sandbox when the old one ended, after what still runs was stopped (reference 2.13)', () => {
    const dead = makeObservedPod({ state: 'stopped', containers: [makeObservedContainer('c', running())] });
    expect(actions({ observed: dead })).toEqual(['stop c#0 30s']);
    expect(actions({ observed: { ...dead, containers: [makeObservedContainer('c', exited(137))] } })).toEqual([
      'sandbox 1',
    ]);
    expect(
      actions({ pod: never, observed: { ...dead, containers: [makeObservedContainer('c', exited(137))] } }),
    ).toEqual([]);
  });
});

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

describe('properties', () => {
  const state = fc.oneof(
    fc.constant({ status: 'created' } as const),
    fc.constant(running()),
    fc.integer({ min: 0, max: 3 }).map((code) => exited(code)),
  );
  const observed = fc.option(
    fc.record({
      state: fc.constantFrom('pending', 'ready', 'stopped', 'stopping'),
      // An incarnation is there once: its name on the backend says name and attempt.
      containers: fc.uniqueArray(
        fc
          .tuple(fc.constantFrom('a', 'b'), state, fc.integer({ min: 0, max: 3 }))
          .map(([name, s, attempt]) => makeObservedContainer(name, s, { attempt })),
        { maxLength: 6, selector: ({ name, attempt }) => `${name}#${attempt}` },
      ),
    }),
    { nil: undefined },
  );
  const policy = fc.constantFrom('Always', 'OnFailure', 'Never');
  const stop = fc.option(
    fc.record({ type: fc.constantFrom('delete', 'removed'), graceSeconds: fc.integer({ min: 1, max: 40 }) }),
    { nil: undefined },
  );

  it('never starts anything for a pod that must stop, and never two incarnations of one container', () => {
    fc.assert(
      fc.property(observed, policy, stop, (seen, restartPolicy, intent) => {
        const pod = makePod({ spec: { restartPolicy, containers: [makeContainer('a'), makeContainer('b')] } });
        const planned = planContainers(snapshot({ pod, stop: intent, observed: seen && makeObservedPod(seen) }));
        const starts = planned.actions.filter((action) => action.type === 'startContainer');
        if (intent !== undefined) expect(starts).toEqual([]);
        expect(new Set(starts.map(({ container }) => container)).size).toBe(starts.length);
        for (const { container } of starts) {
          expect(
            seen?.containers
              .filter(({ name, state: s }) => name === container && s.status === 'running')
              .every(
                ({ attempt }) =>
                  attempt <
                  Math.max(...(seen?.containers.filter((c) => c.name === container).map((c) => c.attempt) ?? [0])),
              ),
          ).toBe(true);
        }
      }),
    );
  });

  it('never removes a sandbox or finishes while a container may run', () => {
    fc.assert(
      fc.property(observed, policy, stop, (seen, restartPolicy, intent) => {
        const pod = makePod({ spec: { restartPolicy, containers: [makeContainer('a'), makeContainer('b')] } });
        const planned = planContainers(
          snapshot({
            pod,
            stop: intent,
            observed: seen && makeObservedPod(seen),
            memory: { ...READY, finalWritten: true },
          }),
        );
        if (seen?.containers.some((container) => container.state.status === 'running')) {
          expect(planned.finished).toBeUndefined();
          expect(planned.actions.map(({ type }) => type)).not.toContain('removeSandbox');
        }
      }),
    );
  });
});
