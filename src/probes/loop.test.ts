import { describe, expect, it } from 'vitest';
import { POD_UID, running, START_MS } from '../testing/builders.ts';
import { podWith, probe, setUp } from './testing/setup.ts';

describe('when probes are asked (kubelet: prober/worker.go)', () => {
  it('a running container is asked at once and then each period', async () => {
    const { clock, exec, turn, container } = setUp();
    turn(podWith({ livenessProbe: probe('live') }), container(running()));
    await clock.advance(25_000);
    expect(exec.at('live')).toEqual([0, 10_000, 20_000]);
  });

  it('any number of looks at the pod starts one loop, and asks a ready container no more often', async () => {
    const { clock, exec, turn, container } = setUp();
    const pod = podWith({ readinessProbe: probe('ready'), livenessProbe: probe('live') });
    turn(pod, container(running()));
    await clock.advance(1_000);
    for (let i = 0; i < 100; i++) turn(pod, container(running()));
    await clock.advance(10_000);
    expect([exec.at('ready'), exec.at('live')]).toEqual([
      [0, 10_000],
      [0, 10_000],
    ]);
  });

  it('a container that is not ready is asked out of turn when the pod is looked at, at most once a second', async () => {
    const { clock, exec, turn, container } = setUp();
    exec.answers.set('ready', { code: 1 });
    const pod = podWith({ readinessProbe: probe('ready') });
    turn(pod, container(running()));
    await clock.advance(3_000);
    for (let i = 0; i < 50; i++) turn(pod, container(running()));
    await clock.advance(0);
    for (let i = 0; i < 50; i++) turn(pod, container(running()));
    // The one at 3 s moves the ticks; the second hundred looks come to one question a second later.
    await clock.advance(12_000);
    expect(exec.at('ready')).toEqual([0, 3_000, 4_000, 14_000]);
  });

  it('a process that has just started spreads the first questions over the period', async () => {
    const { clock, exec, turn, container } = setUp({ upMs: 2_000, random: () => 0.4 });
    const pod = podWith({ readinessProbe: probe('ready') });
    turn(pod, container(running()));
    turn(pod, container(running()));
    await clock.advance(15_000);
    expect(exec.at('ready')).toEqual([4_000, 14_000]);
  });

  it('nothing is asked before initialDelaySeconds', async () => {
    const { clock, exec, turn, container } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 2, initialDelaySeconds: 5 }) });
    turn(pod, container(running()));
    await clock.advance(9_000);
    expect(exec.at('ready')).toEqual([6_000, 8_000]);
  });

  it('a clock that is set back by an hour keeps nobody from asking', async () => {
    const { clock, exec, turn, container } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 2, initialDelaySeconds: 5 }) });
    turn(pod, container(running()));
    await clock.advance(3_000);
    clock.set(START_MS - 3_600_000);
    await clock.advance(6_000);
    expect(exec.calls.length).toBeGreaterThanOrEqual(1);
    clock.set(START_MS - 7_200_000);
    const before = exec.calls.length;
    await clock.advance(10_000);
    expect(exec.calls.length).toBe(before + 5);
  });

  it('until a container has started only its startup probe asks, and after that it never does', async () => {
    const { clock, exec, turn, container, prober, notified } = setUp();
    const pod = podWith({
      startupProbe: probe('start', { periodSeconds: 1 }),
      readinessProbe: probe('ready'),
      livenessProbe: probe('live'),
    });
    exec.answers.set('start', { code: 1 });
    turn(pod, container(running()));
    await clock.advance(1_500);
    expect([exec.at('ready'), exec.at('live'), prober.started(POD_UID, 'c', 0)]).toEqual([[], [], false]);
    exec.answers.set('start', { code: 0 });
    await clock.advance(1_000);
    expect([prober.started(POD_UID, 'c', 0), notified]).toEqual([true, [POD_UID]]);
    // The look that follows asks for readiness at once, not at its next tick.
    turn(pod, container(running()));
    await clock.advance(500);
    expect([exec.at('start'), exec.at('ready')]).toEqual([[0, 1_000, 2_000], [2_500]]);
    await clock.advance(10_000);
    expect(exec.at('start')).toHaveLength(3);
    expect(exec.at('live')).toEqual([10_000]);
  });

  it('one question at a time: a slow answer swallows the ticks that pass meanwhile', async () => {
    const { clock, exec, turn, container } = setUp();
    exec.answers.set('live', 'hang');
    turn(podWith({ livenessProbe: probe('live', { periodSeconds: 1, timeoutSeconds: 4 }) }), container(running()));
    await clock.advance(8_500);
    expect(exec.at('live')).toEqual([0, 4_000, 8_000]);
    expect(exec.pending).toBe(1);
  });

  it('pods without probes cost nothing and are always started and ready', async () => {
    const { clock, prober, turn, container } = setUp();
    turn(podWith({}), container(running()));
    await clock.advance(60_000);
    expect([prober.started(POD_UID, 'c', 0), prober.ready(POD_UID, 'c', 0)]).toEqual([true, true]);
    expect(prober.failure(POD_UID, 'c', 0)).toBeUndefined();
  });
});
