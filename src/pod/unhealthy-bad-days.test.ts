import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../providers/contract/index.ts';
import { makeContainer, makeStoredPod, POD_UID } from '../testing/builders.ts';
import { startedHarness } from '../testing/harness.ts';

describe('a container that a probe gives up', () => {
  it('is stopped at once, although the start of its neighbour fails again and again and waits', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'a' }, { exitAfterMs: 3_000, exitCode: 1 });
    await harness.create(makeStoredPod({ containers: [makeContainer('a'), makeContainer('c')] }));
    await harness.clock.advance(1_000);
    harness.backend.faults.failNext('pullImage', new ProviderError('Unavailable', 'away'), 1_000);
    await harness.clock.advance(120_000);
    expect(harness.containers()).toEqual(['a#0 exited', 'c#0 running']);
    harness.probes.failures.set('c', { attempt: 0, failure: { probe: 'liveness' } });
    harness.workers.post(POD_UID);
    await harness.clock.advance(100);
    expect(harness.containers()).toEqual(['a#0 exited', 'c#0 exited']);
  });

  it('is stopped as soon as the backend is back, which is not asked more often because of it', async () => {
    const harness = await startedHarness();
    await harness.create(makeStoredPod());
    await harness.clock.advance(1_000);
    harness.backend.faults.setUnavailable('the engine is away');
    harness.probes.failures.set('c', { attempt: 0, failure: { probe: 'liveness' } });
    for (let second = 0; second < 60; second++) {
      harness.workers.post(POD_UID);
      await harness.clock.advance(1_000);
    }
    expect(harness.backend.faults.callsOf('stopContainer').length).toBeLessThan(10);
    harness.backend.faults.setUnavailable(undefined);
    await harness.clock.advance(31_000);
    expect(harness.containers()).toContain('c#1 running');
  });
});
