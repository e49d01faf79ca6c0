import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../providers/contract/index.ts';
import { makePod, makeStoredPod, POD_UID } from '../testing/builders.ts';
import { startedHarness } from '../testing/harness.ts';

const DAY_MS = 86_400_000;

describe.each(['container', 'pod'] as const)('on a bad day, a pod on a %s-level backend', (kind) => {
  it('is stopped at once when the backend is back, however long it was away', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.faults.setUnavailable('the engine is away');
    await harness.create(makeStoredPod());
    await harness.clock.advance(600_000);
    harness.backend.faults.setUnavailable(undefined);
    await harness.delete(POD_UID, 1);
    await harness.clock.advance(100);
    expect(harness.objects.has(POD_UID)).toBe(false);
  });

  it('is started soon when the backend is back', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.faults.setUnavailable('the engine is away');
    await harness.create(makeStoredPod());
    await harness.clock.advance(601_000);
    harness.backend.faults.setUnavailable(undefined);
    await harness.clock.advance(15_000);
    expect(harness.status(POD_UID).phase).toBe('Running');
  });

  it('that nobody can judge is refused, and the others go on', async () => {
    const harness = await startedHarness({
      kind,
      admit: (pod) => {
        if (pod.metadata.name === 'odd') throw new Error('not a quantity');
        return undefined;
      },
    });
    const uid = await harness.create(makePod({ metadata: { name: 'odd', uid: 'odd' } }));
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    expect(harness.status(uid)).toMatchObject({ phase: 'Failed', reason: 'UnexpectedAdmissionError' });
    expect(harness.status(POD_UID).phase).toBe('Running');
  });

  it('starts, stops and goes although the clock was set back by a day', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.script({ container: 'c' }, { ignoreStop: true });
    harness.backend.script({ container: 'c', attempt: 0 }, { exitAfterMs: 5_000, exitCode: 1 });
    harness.backend.faults.failNext('inspect', new ProviderError('Unavailable', 'away'), 5);
    await harness.create(makeStoredPod());
    harness.clock.set(harness.clock.now() - DAY_MS);
    await harness.clock.advance(120_000);
    expect(harness.status(POD_UID).phase).toBe('Running');
    await harness.delete(POD_UID, 10);
    harness.clock.set(harness.clock.now() - DAY_MS);
    await harness.clock.advance(120_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('is asked for with patience when every start ends at once', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.images.pullErrors.set('busybox:1', new ProviderError('ImageNotFound', 'no such image'));
    await harness.create(makeStoredPod());
    await harness.clock.advance(600_000);
    expect(harness.backend.faults.callsOf('launchPod', 'pullImage').length).toBeLessThan(100);
  });

  it('says CrashLoopBackOff while it waits for its next start (reference 1.5)', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 1 });
    await harness.create(makeStoredPod());
    await harness.clock.advance(30_000);
    const [status] = harness.status(POD_UID).containerStatuses ?? [];
    expect(status?.state?.waiting).toMatchObject({
      reason: 'CrashLoopBackOff',
      message: expect.stringMatching(/^back-off 20s restarting failed container=c pod=p_ns\(/),
    });
  });

  it('whose object has finalizers is stopped, and its deletion asked for now and then', async () => {
    const harness = await startedHarness({ kind });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    harness.finalizers = true;
    await harness.delete(POD_UID, 1);
    await harness.clock.advance(60_000);
    expect(harness.backend.pods.size).toBe(0);
    expect(harness.objects.has(POD_UID)).toBe(true);
    expect(harness.deletions).toBeLessThan(8);
    harness.finalizers = false;
    await harness.clock.advance(15_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.remembered()).toEqual([]);
  });
});

describe('on a bad day, a pod on a container-level backend', () => {
  it('stops with its grace period when the reply of its start was lost and no hint came', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { stopAfterMs: 3_000, stopExitCode: 0 });
    harness.backend.faults.failNext('watch', new ProviderError('Unavailable', 'no events'), 1_000);
    harness.backend.hints.cut();
    harness.backend.faults.loseReply('startContainer');
    await harness.create(makeStoredPod());
    await harness.delete(POD_UID, 30);
    await harness.clock.advance(15_000);
    const ended = harness.statuses.at(-1)?.containerStatuses?.[0]?.state?.terminated;
    expect(ended?.exitCode).toBe(0);
  });

  it('is not remade at full speed when its sandbox dies each time', async () => {
    const harness = await startedHarness();
    await harness.create(makeStoredPod());
    const kill = (): void => {
      harness.backend.killSandbox(POD_UID);
    };
    const watch = harness.clock;
    for (let second = 0; second < 300; second++) {
      await watch.advance(1_000);
      kill();
    }
    expect(harness.backend.faults.callsOf('ensureSandbox').length).toBeLessThan(320);
  });
});
