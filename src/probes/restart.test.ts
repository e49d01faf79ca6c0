import { describe, expect, it } from 'vitest';
import type { PodStatus } from '../model/pod.ts';
import { POD_UID, running, START_MS } from '../testing/builders.ts';
import { podWith, probe, setUp } from './testing/setup.ts';

describe('a restart of Outrigger (reference 4.8)', () => {
  const readyStatus = (overrides: Partial<PodStatus> = {}): PodStatus => ({
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [
      {
        name: 'c',
        containerID: 'docker://c-0',
        image: 'i',
        imageID: '',
        ready: true,
        started: true,
        restartCount: 0,
        state: { running: {} },
      },
    ],
    ...overrides,
  });
  const probes = { startupProbe: probe('start'), readinessProbe: probe('ready'), livenessProbe: probe('live') };

  it('what was started and ready stays so, and startup is not asked again', async () => {
    const { clock, exec, turn, container, prober } = setUp({ upMs: 0 });
    exec.answers.set('start', { code: 1 });
    const pod = podWith(probes, {}, readyStatus());
    prober.observe(pod, container(running(START_MS - 60_000)));
    expect([prober.started(POD_UID, 'c', 0), prober.ready(POD_UID, 'c', 0)]).toEqual([true, true]);
    turn(pod, container(running(START_MS - 60_000)));
    await clock.advance(6_000);
    expect(exec.calls.map(({ word }) => word)).toEqual(['ready', 'live']);
    expect(prober.ready(POD_UID, 'c', 0)).toBe(true);
  });

  it('a pod that was not ready is not, and a container that had not started has not', () => {
    const { container, prober } = setUp({ upMs: 0 });
    const [status] = readyStatus().containerStatuses ?? [];
    if (status === undefined) throw new Error('no status');
    const pod = podWith(
      probes,
      {},
      readyStatus({ conditions: [], containerStatuses: [{ ...status, started: false }] }),
    );
    prober.observe(pod, container(running(START_MS - 60_000)));
    expect([prober.started(POD_UID, 'c', 0), prober.ready(POD_UID, 'c', 0)]).toEqual([false, false]);
  });

  it('another container than the API server knows starts from the beginning', () => {
    const { container, prober } = setUp({ upMs: 0 });
    prober.observe(podWith(probes, {}, readyStatus()), container(running(START_MS - 1_000), 1));
    expect([prober.started(POD_UID, 'c', 1), prober.ready(POD_UID, 'c', 1)]).toEqual([false, false]);
  });

  it('fifty ready pods: nobody is told of a change', async () => {
    const { clock, exec, notified, turn, container } = setUp({ upMs: 0, random: Math.random });
    for (let i = 0; i < 50; i++) {
      const pod = podWith({ readinessProbe: probe('ready'), livenessProbe: probe('live') }, {}, readyStatus());
      pod.metadata.uid = `${POD_UID}-${i}`;
      turn(pod, container(running(START_MS - 60_000)));
    }
    await clock.advance(30_000);
    expect(notified).toEqual([]);
    expect(exec.calls.length).toBeGreaterThanOrEqual(300);
  });
});

it('a thousand probed pods hold one timer per probe and ask at once within a period', async () => {
  const { clock, exec, turn, container, prober } = setUp();
  let timers = 0;
  const timer = clock.timer.bind(clock);
  clock.timer = (ms, callback) => {
    timers++;
    const cancel = timer(ms, () => {
      timers--;
      callback();
    });
    let done = false;
    return () => {
      if (!done) timers--;
      done = true;
      cancel();
    };
  };
  for (let i = 0; i < 1_000; i++) {
    const pod = podWith({ readinessProbe: probe('ready') });
    pod.metadata.uid = `${POD_UID}-${i}`;
    turn(pod, container(running()));
  }
  await clock.advance(100);
  expect(exec.calls).toHaveLength(1_000);
  expect(timers).toBe(1_000);
  for (let i = 0; i < 1_000; i++) prober.forget(`${POD_UID}-${i}` as typeof POD_UID);
  expect(timers).toBe(0);
});
