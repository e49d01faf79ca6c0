import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../providers/contract/index.ts';
import {
  exited,
  makeContainer,
  makeObservedContainer,
  makeObservedPod,
  makePod,
  POD_UID,
  running,
  START_MS,
} from '../testing/builders.ts';
import { podWith, probe, setUp } from './testing/setup.ts';

describe('what comes of the answers', () => {
  it('readiness follows its thresholds; each change asks for a look at the pod', async () => {
    const { clock, exec, turn, container, prober, notified } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 1, failureThreshold: 2 }) });
    turn(pod, container(running()));
    expect(prober.ready(POD_UID, 'c', 0)).toBe(false);
    await clock.advance(500);
    expect([prober.ready(POD_UID, 'c', 0), notified.length]).toEqual([true, 1]);
    exec.answers.set('ready', { code: 1, output: 'no\n' });
    await clock.advance(1_000);
    expect(prober.ready(POD_UID, 'c', 0)).toBe(true);
    await clock.advance(1_000);
    expect([prober.ready(POD_UID, 'c', 0), notified.length]).toEqual([false, 2]);
  });

  it('a failed liveness probe stays failed until another incarnation runs, which starts anew', async () => {
    const { clock, exec, turn, container, prober } = setUp();
    exec.answers.set('live', { code: 1 });
    const pod = podWith({
      livenessProbe: probe('live', { periodSeconds: 1, failureThreshold: 2, terminationGracePeriodSeconds: 7 }),
    });
    turn(pod, container(running()));
    await clock.advance(5_000);
    expect(prober.failure(POD_UID, 'c', 0)).toEqual({ probe: 'liveness', graceSeconds: 7 });
    expect(exec.at('live')).toEqual([0, 1_000]);
    turn(pod, container(exited(137)));
    turn(pod, container(running(START_MS + 5_000), 1));
    expect([prober.failure(POD_UID, 'c', 1), prober.failure(POD_UID, 'c', 0)]).toEqual([undefined, undefined]);
    await clock.advance(2_000);
    expect(exec.calls.slice(2).map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('a failed startup probe says so, with its own grace period', async () => {
    const { clock, exec, turn, container, prober } = setUp();
    exec.answers.set('start', { code: 1 });
    const pod = podWith({ startupProbe: probe('start', { periodSeconds: 1, failureThreshold: 1 }) });
    turn(pod, container(running()));
    await clock.advance(100);
    expect([prober.failure(POD_UID, 'c', 0), prober.started(POD_UID, 'c', 0)]).toEqual([{ probe: 'startup' }, false]);
  });

  it('an incarnation that was never seen is neither started nor ready', () => {
    const { turn, container, prober } = setUp();
    turn(podWith({ startupProbe: probe('start'), readinessProbe: probe('ready') }), container(running()));
    expect([prober.started(POD_UID, 'c', 1), prober.ready(POD_UID, 'c', 1)]).toEqual([false, false]);
  });

  it('an answer about an incarnation that has ended meanwhile is dropped, and so is its event', async () => {
    const { clock, exec, events, turn, container, prober } = setUp();
    exec.answers.set('live', 'hang');
    const pod = podWith({ livenessProbe: probe('live', { failureThreshold: 1 }) });
    turn(pod, container(running()));
    await clock.advance(500);
    turn(pod, container(exited(1)));
    await clock.advance(5_000);
    expect([events, prober.failure(POD_UID, 'c', 0), exec.pending]).toEqual([[], undefined, 0]);
  });

  it('a container that ended and may not run again is not asked any more', async () => {
    const { clock, exec, metrics, turn, container } = setUp();
    const pod = podWith({ livenessProbe: probe('live', { periodSeconds: 1 }) }, { restartPolicy: 'Never' });
    turn(pod, container(running()));
    await clock.advance(1_500);
    turn(pod, container(exited(1)));
    await clock.advance(5_000);
    expect([exec.calls.length, metrics.at(-1)]).toEqual([2, 'Liveness c ended']);
  });

  it('sidecars are probed, plain init containers are not', async () => {
    const { clock, exec, events, turn } = setUp();
    exec.answers.set('side', { code: 1 });
    const initContainers = [
      makeContainer('plain', { livenessProbe: probe('plain') }),
      makeContainer('side', { restartPolicy: 'Always', readinessProbe: probe('side') }),
    ];
    const observed = makeObservedPod({
      containers: [makeObservedContainer('plain', running()), makeObservedContainer('side', running())],
    });
    turn(makePod({ spec: { initContainers, containers: [makeContainer()] } }), observed);
    await clock.advance(100);
    expect(exec.calls.map(({ word }) => word)).toEqual(['side']);
    expect(events.map(({ fieldPath }) => fieldPath)).toEqual(['spec.initContainers{side}']);
  });
});

describe('what is told (reference 3.3)', () => {
  it('a failure, with its output', async () => {
    const { clock, exec, events, metrics, turn, container } = setUp();
    exec.answers.set('live', { code: 2, output: "cat: can't open '/tmp/live': No such file or directory\n" });
    turn(podWith({ livenessProbe: probe('live') }), container(running()));
    await clock.advance(100);
    expect(events).toEqual([
      {
        type: 'Warning',
        reason: 'Unhealthy',
        message: "Liveness probe failed: cat: can't open '/tmp/live': No such file or directory\n",
        fieldPath: 'spec.containers{c}',
      },
    ]);
    expect(metrics).toEqual(['Liveness c failed 0']);
  });

  it('a command that takes too long, in the words of the kubelet, and it is ended', async () => {
    const { clock, exec, events, metrics, turn, container } = setUp();
    exec.answers.set('sleep', 'hang');
    turn(podWith({ readinessProbe: { ...probe('sleep'), exec: { command: ['sleep', '9 "'] } } }), container(running()));
    await clock.advance(1_000);
    expect(events.map(({ message }) => message)).toEqual([
      'Readiness probe failed: command timed out: "sleep 9 \\"" timed out after 1s',
    ]);
    expect([exec.pending, exec.requests[0]?.killOnAbort, metrics]).toEqual([0, true, ['Readiness c failed 1']]);
  });

  it('an error after three tries, and the result stays', async () => {
    const { clock, exec, events, metrics, turn, container, prober } = setUp();
    const pod = podWith({ livenessProbe: probe('live', { periodSeconds: 1, failureThreshold: 1 }) });
    exec.answers.set('live', new ProviderError('Internal', 'no such command'));
    turn(pod, container(running()));
    await clock.advance(500);
    expect(exec.calls).toHaveLength(3);
    expect(events.map(({ reason, message }) => [reason, message])).toEqual([
      ['Unhealthy', 'Liveness probe errored and resulted in unknown state: no such command'],
    ]);
    expect([prober.failure(POD_UID, 'c', 0), metrics]).toEqual([undefined, []]);
  });

  it('nothing while the backend is away: neither result nor event', async () => {
    const { clock, exec, events, turn, container, prober } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 1, failureThreshold: 1 }) });
    turn(pod, container(running()));
    await clock.advance(500);
    exec.answers.set('ready', new ProviderError('Unavailable', 'socket hang up'));
    await clock.advance(10_000);
    expect([prober.ready(POD_UID, 'c', 0), events, exec.calls.length]).toEqual([true, [], 11]);
  });

  it('a pod that slipped through to a backend that cannot run commands', async () => {
    const { clock, events, turn, container } = setUp({ exec: false });
    turn(podWith({ livenessProbe: probe('live') }), container(running()));
    await clock.advance(100);
    expect(events[0]?.message).toBe(
      'Liveness probe errored and resulted in unknown state: the provider cannot run commands in containers',
    );
  });
});

describe('the end', () => {
  it('a pod that is stopped: liveness and startup end as successful and quietly, readiness goes on (reference 4.2.6)', async () => {
    const { clock, exec, events, turn, container, prober } = setUp();
    const pod = podWith({
      livenessProbe: probe('live', { periodSeconds: 1, failureThreshold: 1 }),
      readinessProbe: probe('ready', { periodSeconds: 1 }),
    });
    turn(pod, container(running()));
    await clock.advance(500);
    exec.answers.set('live', 'hang');
    await clock.advance(1_000);
    turn(pod, container(running()), { stopping: true });
    exec.answers.set('live', { code: 1 });
    await clock.advance(3_000);
    expect([exec.at('live'), events, prober.failure(POD_UID, 'c', 0)]).toEqual([[0, 1_000], [], undefined]);
    expect(exec.at('ready')).toHaveLength(5);
  });

  it('a pod that has ended', async () => {
    const { clock, exec, turn, container } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 1 }) });
    turn(pod, container(running()));
    await clock.advance(500);
    turn(pod, container(running()), { status: { phase: 'Failed' } });
    await clock.advance(5_000);
    expect(exec.calls).toHaveLength(1);
  });

  it('forgetting a pod ends everything of it, also what is under way', async () => {
    const { clock, exec, events, metrics, turn, container, prober } = setUp();
    exec.answers.set('live', 'hang');
    turn(podWith({ livenessProbe: probe('live'), readinessProbe: probe('ready') }), container(running()));
    await clock.advance(500);
    prober.forget(POD_UID);
    await clock.advance(60_000);
    expect([exec.calls.length, exec.pending, events]).toEqual([2, 0, []]);
    expect(metrics.filter((line) => line.endsWith('ended'))).toEqual(['Readiness c ended', 'Liveness c ended']);
    expect(prober.ready(POD_UID, 'c', 0)).toBe(true);
  });

  it('the end of the node ends all questions and changes no result', async () => {
    const { clock, exec, life, turn, container, prober } = setUp();
    exec.answers.set('ready', { code: 1 });
    const pod = podWith({ readinessProbe: probe('ready') });
    turn(pod, container(running()));
    await clock.advance(100);
    life.abort();
    turn(pod, container(running()));
    await clock.advance(60_000);
    expect([exec.calls.length, prober.ready(POD_UID, 'c', 0)]).toEqual([1, false]);
  });
});
