import { describe, expect, it } from 'vitest';
import {
  exited,
  makeContainer,
  makeObservedContainer,
  makeObservedPod,
  makePod,
  running,
  START_MS,
} from '../../testing/builders.ts';
import { actions, NOW, READY, sandbox, snapshot } from '../../testing/plan-setup.ts';
import { planContainers } from './containers.ts';
import type { PodMemory } from './memory.ts';

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
        restart: { type: 'changed' },
      },
    ]);
    const stops = new Map([['c#0', { deadlineMs: NOW, graceSeconds: 30, restart: { type: 'changed' as const } }]]);
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
