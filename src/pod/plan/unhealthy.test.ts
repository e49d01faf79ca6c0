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
import { planUnit } from './unit.ts';

const liveness = (container = 'c', attempt = 0, graceSeconds?: number) =>
  new Map([
    [
      `${container}#${attempt}`,
      { probe: 'liveness' as const, ...(graceSeconds === undefined ? {} : { graceSeconds }) },
    ],
  ]);
const live = sandbox(makeObservedContainer('c', running()));
const never = makePod({ spec: { restartPolicy: 'Never' } });
/** Stopped because a probe had given it up, to start again. */
const killed = (attempt = 0, exitBeforeMs?: number) => {
  const restart = { type: 'unhealthy' as const, ...(exitBeforeMs === undefined ? {} : { exitBeforeMs }) };
  return new Map([[`c#${attempt}`, { deadlineMs: NOW, graceSeconds: 30, restart }]]);
};

describe('a container that a probe has given up', () => {
  it('is stopped with the pod’s grace period and will be restarted (reference 3.3, 4.9)', () => {
    expect(planContainers(snapshot({ observed: live, unhealthy: liveness() })).actions).toEqual([
      {
        type: 'stopContainer',
        container: 'c',
        attempt: 0,
        graceSeconds: 30,
        why: 'Container c failed liveness probe, will be restarted',
        restart: { type: 'unhealthy' },
      },
    ]);
  });

  it('has the grace period of the probe where that has one, at least 2 s (reference 4.9)', () => {
    expect(actions({ observed: live, unhealthy: liveness('c', 0, 7) })).toEqual(['stop c#0 7s']);
    expect(actions({ observed: live, unhealthy: liveness('c', 0, 1) })).toEqual(['stop c#0 2s']);
  });

  it('names the startup probe', () => {
    const unhealthy = new Map([['c#0', { probe: 'startup' as const }]]);
    const [action] = planContainers(snapshot({ observed: live, unhealthy })).actions;
    expect(action).toMatchObject({ why: 'Container c failed startup probe, will be restarted' });
  });

  it('does not concern its neighbour', () => {
    const pod = makePod({ spec: { containers: [makeContainer('a'), makeContainer('c')] } });
    const observed = sandbox(makeObservedContainer('a', running()), makeObservedContainer('c', running()));
    expect(actions({ pod, observed, unhealthy: liveness() })).toEqual(['stop c#0 30s']);
  });

  it('is stopped before anything is pulled for its neighbours, which may take minutes (kubelet: SyncPod kills first)', () => {
    const pod = makePod({ spec: { containers: [makeContainer('a'), makeContainer('c')] } });
    const observed = sandbox(makeObservedContainer('c', running()));
    expect(actions({ pod, observed, unhealthy: liveness() })).toEqual(['stop c#0 30s', 'pull a', 'start a#0']);
  });

  it('does not concern the incarnation after it', () => {
    const observed = sandbox(
      makeObservedContainer('c', running(), { attempt: 1 }),
      makeObservedContainer('c', exited(137)),
    );
    expect(actions({ observed, unhealthy: liveness('c', 0) })).toEqual([]);
  });

  it('is killed at the end of its grace period, also when the result was forgotten meanwhile', () => {
    const memory = { ...READY, stops: killed() };
    expect(actions({ observed: live, memory })).toEqual(['stop c#0 0s']);
  });

  it('starts again at once, whatever its exit code', () => {
    const pod = makePod({ spec: { restartPolicy: 'OnFailure' } });
    const observed = sandbox(makeObservedContainer('c', exited(0)));
    expect(actions({ pod, observed, memory: { ...READY, stops: killed() } })).toEqual(['pull c', 'start c#1']);
  });

  it('waits in the back-off of the run before, if it came within that', () => {
    const delay = { delayMs: 10_000, updatedAtMs: START_MS };
    const at = (endMs: number, nowMs: number) => {
      const state = exited(137, { finishedAt: new Date(START_MS + endMs) });
      return actions({
        observed: sandbox(makeObservedContainer('c', state, { attempt: 1 })),
        memory: { ...READY, stops: killed(1, START_MS + 2_000), backoffs: new Map([['c', delay]]) },
        nowMs: START_MS + nowMs,
      });
    };
    expect(at(9_000, 9_100)).toEqual([]);
    expect(at(9_000, 11_500)).toEqual(['back-off c']);
    expect(at(9_000, 19_500)).toEqual(['pull c', 'start c#2']);
    expect(at(14_000, 14_100)).toEqual(['pull c', 'start c#2']);
  });

  it('remembers when the run before had ended, however that is counted later', () => {
    const observed = sandbox(
      makeObservedContainer('c', running(), { attempt: 1 }),
      makeObservedContainer('c', exited(1)),
    );
    const [action] = planContainers(snapshot({ observed, unhealthy: liveness('c', 1) })).actions;
    expect(action).toMatchObject({ restart: { type: 'unhealthy', exitBeforeMs: START_MS + 2_000 } });
  });

  it('ends the pod when it may not restart and was the last one (oracle case 055)', () => {
    const [action] = planContainers(snapshot({ pod: never, observed: live, unhealthy: liveness() })).actions;
    expect(action).toEqual({ type: 'stopContainer', container: 'c', attempt: 0, graceSeconds: 30 });
    const memory = { ...READY, stops: new Map([['c#0', { deadlineMs: NOW, graceSeconds: 30 }]]) };
    const stopped = makeObservedPod({ state: 'stopped', containers: [makeObservedContainer('c', exited(17))] });
    const shown = planContainers(snapshot({ pod: never, observed: stopped, memory }));
    expect(shown).toEqual({ actions: [{ type: 'showStopped' }] });
    const after = planContainers(
      snapshot({ pod: never, observed: stopped, memory: { ...memory, stoppedShown: true } }),
    );
    expect(after).toEqual({ actions: [], finished: true });
  });

  it('is stopped alone when it may not restart and others run', () => {
    const pod = makePod({ spec: { restartPolicy: 'Never', containers: [makeContainer('a'), makeContainer('c')] } });
    const observed = sandbox(makeObservedContainer('a', running()), makeObservedContainer('c', running()));
    expect(planContainers(snapshot({ pod, observed, unhealthy: liveness() })).actions).toEqual([
      { type: 'stopContainer', container: 'c', attempt: 0, graceSeconds: 30, why: 'Container c failed liveness probe' },
    ]);
  });

  it('is left alone while the pod is being stopped (reference 4.2.6)', () => {
    const stop = { type: 'delete', graceSeconds: 30 } as const;
    const [action] = planContainers(snapshot({ observed: live, unhealthy: liveness(), stop })).actions;
    expect(action).toEqual({ type: 'stopContainer', container: 'c', attempt: 0, graceSeconds: 30 });
  });
});

describe('a unit one of whose containers a probe has given up', () => {
  const unhealthy = liveness();

  it('stops as a whole and is launched again', () => {
    const [stop] = planUnit(snapshot({ observed: live, unhealthy })).actions;
    expect(stop).toEqual({
      type: 'stopPod',
      graceSeconds: 30,
      why: new Map([['c', 'Container c failed liveness probe, will be restarted']]),
      restart: { type: 'unhealthy' },
    });
    const stopped = makeObservedPod({ state: 'stopped', containers: [makeObservedContainer('c', exited(0))] });
    const stops = new Map([['*#0', { deadlineMs: NOW, graceSeconds: 30, restart: { type: 'unhealthy' as const } }]]);
    const pod = makePod({ spec: { restartPolicy: 'OnFailure' } });
    expect(planUnit(snapshot({ pod, observed: stopped, memory: { ...READY, stops } })).actions).toEqual([
      { type: 'launchPod', attempt: 1 },
    ]);
  });

  it('stops for good where the policy is Never', () => {
    const [stop] = planUnit(snapshot({ pod: never, observed: live, unhealthy })).actions;
    expect(stop).toMatchObject({ type: 'stopPod' });
    expect(stop).not.toHaveProperty('restart');
  });
});
