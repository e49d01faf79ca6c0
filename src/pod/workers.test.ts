import { describe, expect, it } from 'vitest';
import { makeStoredPod, POD_UID } from '../testing/builders.ts';
import { type Harness, startedHarness } from '../testing/harness.ts';

const state = (harness: Harness) => harness.status(POD_UID).containerStatuses?.[0];
const condition = (harness: Harness, type: string) =>
  harness.status(POD_UID).conditions?.find((entry) => entry.type === type)?.status;

describe.each(['container', 'pod'] as const)('a pod on a %s-level backend', (kind) => {
  it('becomes Running and Ready', async () => {
    const harness = await startedHarness({ kind });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    expect(harness.status(POD_UID).phase).toBe('Running');
    expect(condition(harness, 'Ready')).toBe('True');
    expect(state(harness)?.imageID).toMatch(/^sha256:/);
    expect(harness.containers()).toEqual(['c#0 running']);
  });

  it('ends Succeeded under restartPolicy Never', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 0 });
    await harness.create(makeStoredPod({ restartPolicy: 'Never' }));
    await harness.clock.advance(2_000);
    expect(harness.status(POD_UID).phase).toBe('Succeeded');
    expect(state(harness)?.state?.terminated?.exitCode).toBe(0);
    expect(harness.containers()).toEqual(['c#0 exited']);
  });

  it('is stopped, cleaned and deleted', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.script({ container: 'c' }, { stopAfterMs: 3_000 });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    await harness.delete(POD_UID);
    expect(harness.objects.has(POD_UID)).toBe(true);
    await harness.clock.advance(3_500);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.backend.pods.size).toBe(0);
    expect(harness.workers.status(POD_UID)).toBeUndefined();
  });

  it('is cleaned when it was removed by force', async () => {
    const harness = await startedHarness({ kind });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    await harness.forceDelete(POD_UID);
    await harness.clock.advance(3_000);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('is adopted after a crash: nothing restarts and nothing is made twice (reference 17.1)', async () => {
    const harness = await startedHarness({ kind });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    const before = harness.status(POD_UID);
    await harness.crash();
    await harness.clock.advance(60_000);
    await harness.start();
    await harness.clock.advance(60_000);
    expect(harness.containers()).toEqual(['c#0 running']);
    expect(harness.status(POD_UID)).toEqual(before);
  });

  it('is cleaned up when it was deleted while the process was down', async () => {
    const harness = await startedHarness({ kind });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    await harness.crash();
    harness.objects.delete(POD_UID);
    await harness.start();
    await harness.clock.advance(5_000);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('is another pod when its name returns with another UID', async () => {
    const harness = await startedHarness({ kind });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    await harness.crash();
    harness.objects.delete(POD_UID);
    await harness.start();
    const next = await harness.create(makeStoredPod({}, { uid: '99999999-2222-3333-4444-555555555555' }));
    await harness.clock.advance(5_000);
    expect(harness.status(next).phase).toBe('Running');
    expect([...harness.backend.pods.keys()]).toEqual([next]);
  });

  it('keeps its status and its containers while the backend cannot be asked (reference 17.5)', async () => {
    const harness = await startedHarness({ kind });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    const before = harness.status(POD_UID);
    harness.backend.faults.setUnavailable('the engine is away');
    await harness.clock.advance(600_000);
    expect(harness.status(POD_UID)).toEqual(before);
    harness.backend.faults.setUnavailable(undefined);
    await harness.clock.advance(60_000);
    expect(harness.containers()).toEqual(['c#0 running']);
  });

  it('stays Terminating while the backend is away and is deleted when it is back', async () => {
    const harness = await startedHarness({ kind });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    harness.backend.faults.setUnavailable('the engine is away');
    await harness.delete(POD_UID, 1);
    await harness.clock.advance(120_000);
    expect(harness.status(POD_UID).phase).toBe('Running');
    harness.backend.faults.setUnavailable(undefined);
    await harness.clock.advance(60_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
  });

  it('is refused with an event and a status (reference 6.3)', async () => {
    const harness = await startedHarness({ kind, admit: () => ({ reason: 'OutOfcpu', message: 'no room' }) });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    expect(harness.status(POD_UID)).toMatchObject({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: 'Pod was rejected: no room',
    });
    expect(harness.events).toEqual(['OutOfcpu: no room']);
    expect(harness.backend.pods.size).toBe(0);
    await harness.delete(POD_UID);
    await harness.clock.advance(1_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
  });
});

describe('a pod that the node’s labels do not suit', () => {
  const NO_MATCH = { reason: 'NodeAffinity', message: 'no' };

  it('is judged by the Node as it is now: the label that it was placed by may be newer than the watch', async () => {
    let labelled = false;
    const harness = await startedHarness({
      admit: () => (labelled ? undefined : NO_MATCH),
      refreshNode: async () => {
        labelled = true;
      },
    });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    expect(harness.status(POD_UID).phase).toBe('Running');
    expect(harness.events.join()).not.toContain('NodeAffinity');
  });

  it('is refused once the Node was asked, also when it does not answer', async () => {
    let asked = 0;
    const harness = await startedHarness({
      admit: () => NO_MATCH,
      refreshNode: async () => {
        asked++;
        throw new Error('away');
      },
    });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100_000);
    expect(harness.status(POD_UID)).toMatchObject({ phase: 'Failed', reason: 'NodeAffinity' });
    expect(harness.events).toEqual(['NodeAffinity: no']);
    expect(asked).toBe(1);
  });

  it('that is deleted meanwhile is stopped, not refused', async () => {
    const answer = Promise.withResolvers<void>();
    const harness = await startedHarness({ admit: () => NO_MATCH, refreshNode: () => answer.promise });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    await harness.delete(POD_UID, 1);
    answer.resolve();
    await harness.clock.advance(2_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.events).toEqual([]);
  });
});
