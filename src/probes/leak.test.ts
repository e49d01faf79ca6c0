import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { ContainerState, ObservedPod, PodUid } from '../../providers/contract/index.ts';
import { exited, running } from '../testing/builders.ts';
import { podWith, probe, setUp } from './testing/setup.ts';

describe('a thousand lives of pods', () => {
  it('leave no question, no command and no listener behind, however they end', async () => {
    const { clock, exec, turn, container, prober, life } = setUp();
    exec.answers.set('live', 'hang');
    exec.answers.set('ready', new Error('no such command'));
    const probes = { readinessProbe: probe('ready'), livenessProbe: probe('live', { timeoutSeconds: 5 }) };
    for (let i = 0; i < 1_000; i++) {
      const uid = `uid-${i}` as PodUid; // made up
      const base = podWith(i % 2 === 0 ? probes : { ...probes, startupProbe: probe('start') });
      const pod = { ...base, metadata: { ...base.metadata, uid } };
      const seen = (state: ContainerState, attempt = 0): ObservedPod => {
        const observed = container(state, attempt);
        return { ...observed, pod: { ...observed.pod, uid } };
      };
      turn(pod, seen(running(clock.now())));
      await clock.advance(200);
      if (i % 3 === 0) turn(pod, seen(exited(1)));
      if (i % 3 === 1) turn(pod, seen(running(clock.now()), 1));
      if (i % 5 === 0) turn(pod, seen(running(clock.now()), 2), { stopping: true });
      if (i % 7 === 0) turn(pod, undefined);
      prober.forget(uid);
    }
    await clock.advance(0);
    const asked = exec.calls.length;
    expect(asked).toBeGreaterThan(2_000);
    expect(exec.pending).toBe(0);
    await clock.advance(60_000);
    expect(exec.calls).toHaveLength(asked);
    expect(getEventListeners(life.signal, 'abort')).toHaveLength(1);
  });
});
