import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../providers/contract/index.ts';
import type { Container } from '../model/pod.ts';
import { makeContainer, makeStoredPod, POD_UID } from '../testing/builders.ts';
import { type Harness, startedHarness } from '../testing/harness.ts';

const PATH = '/dev/termination-log';

const speaking = (overrides: Partial<Container> = {}) =>
  makeContainer('c', { terminationMessagePath: PATH, terminationMessagePolicy: 'File', ...overrides });

const ofC = (harness: Harness) => harness.status(POD_UID).containerStatuses?.[0];

/** What each status that showed an end said of it. */
const told = (harness: Harness) =>
  harness.statuses.flatMap(({ containerStatuses = [] }) =>
    containerStatuses.flatMap(({ state }) => state?.terminated ?? []),
  );

describe.each(['container', 'pod'] as const)('the message of a container on a %s-level backend', (kind) => {
  it('is told together with its end', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 3, message: 'out of luck' });
    await harness.create(makeStoredPod({ restartPolicy: 'Never', containers: [speaking()] }));
    await harness.clock.advance(5_000);
    expect(harness.status(POD_UID).phase).toBe('Failed');
    expect(told(harness).length).toBeGreaterThan(0);
    for (const { message } of told(harness)) expect(message).toBe('out of luck');
  });

  it('comes again after a restart of the process', async () => {
    const harness = await startedHarness({ kind });
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 3, message: 'out of luck' });
    await harness.create(makeStoredPod({ restartPolicy: 'Never', containers: [speaking()] }));
    await harness.clock.advance(5_000);
    await harness.crash();
    await harness.start();
    await harness.clock.advance(5_000);
    expect(ofC(harness)?.state?.terminated?.message).toBe('out of luck');
  });
});

describe('the message of a container', () => {
  it('that restarts is in its last state', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c', attempt: 0 }, { exitAfterMs: 1_000, exitCode: 1, message: 'first' });
    harness.backend.script({ container: 'c', attempt: 1 }, { exitAfterMs: 1_000, exitCode: 1, message: 'second' });
    await harness.create(makeStoredPod({ containers: [speaking()] }));
    await harness.clock.advance(1_500);
    expect(ofC(harness)?.lastState?.terminated?.message).toBe('first');
    await harness.clock.advance(30_000);
    expect(ofC(harness)?.restartCount).toBe(2);
    expect(ofC(harness)?.lastState?.terminated?.message).toBe('second');
  });

  it('that ends at once is not lost', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 0, message: 'done' });
    harness.backend.script({ container: 'd' }, { exitAfterMs: 0, message: 'done' });
    const other = { ...speaking(), name: 'd' };
    await harness.create(makeStoredPod({ restartPolicy: 'Never', containers: [speaking(), other] }));
    await harness.clock.advance(1_000);
    expect(harness.status(POD_UID).phase).toBe('Succeeded');
    for (const { message } of told(harness)) expect(message).toBe('done');
  });

  it('is the end of its log where it wrote none and failed', async () => {
    const harness = await startedHarness();
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}`);
    const logs = lines.map((text) => ({ text, stream: 'stdout' as const, afterMs: 0, partial: false }));
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 1, logs });
    const containers = [speaking({ terminationMessagePolicy: 'FallbackToLogsOnError' })];
    await harness.create(makeStoredPod({ restartPolicy: 'Never', containers }));
    await harness.clock.advance(5_000);
    expect(ofC(harness)?.state?.terminated?.message).toBe(`${lines.slice(20).join('\n')}\n`);
  });

  it.each([
    ['succeeded', { exitCode: 0 }, undefined],
    ['wrote one', { exitCode: 1, message: 'mine' }, 'mine'],
  ])('is not its log where it %s', async (_, script, message) => {
    const harness = await startedHarness();
    const logs = [{ text: 'log', stream: 'stdout' as const, afterMs: 0, partial: false }];
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, logs, ...script });
    const containers = [speaking({ terminationMessagePolicy: 'FallbackToLogsOnError' })];
    await harness.create(makeStoredPod({ restartPolicy: 'Never', containers }));
    await harness.clock.advance(5_000);
    expect(ofC(harness)?.state?.terminated).toBeDefined();
    expect(ofC(harness)?.state?.terminated?.message).toBe(message);
  });

  it('is its last 4096 bytes, of a log its last 2048', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, message: `${'a'.repeat(10)}${'b'.repeat(4096)}` });
    const logs = ['x', 'y'].map((text) => ({
      text: text.repeat(1500),
      stream: 'stdout' as const,
      afterMs: 0,
      partial: false,
    }));
    harness.backend.script({ container: 'd' }, { exitAfterMs: 1_000, exitCode: 1, logs });
    const other = { ...speaking({ terminationMessagePolicy: 'FallbackToLogsOnError' }), name: 'd' };
    await harness.create(makeStoredPod({ restartPolicy: 'Never', containers: [speaking(), other] }));
    await harness.clock.advance(5_000);
    const texts = harness.status(POD_UID).containerStatuses?.map(({ state }) => state?.terminated?.message);
    expect(texts).toEqual(['b'.repeat(4096), `${'x'.repeat(546)}\n${'y'.repeat(1500)}\n`]);
  });

  it('is waited for while the backend is away, and replaced by the reason where it cannot be had', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 1, message: 'late' });
    await harness.create(makeStoredPod({ restartPolicy: 'Never', containers: [speaking()] }));
    harness.backend.faults.failNext('readFile', new ProviderError('Unavailable', 'away'), 2);
    await harness.clock.advance(1_500);
    expect(ofC(harness)?.state?.running).toBeDefined();
    await harness.clock.advance(10_000);
    expect(ofC(harness)?.state?.terminated?.message).toBe('late');

    const other = await startedHarness();
    other.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 1, message: 'late' });
    other.backend.faults.failNext('readFile', new ProviderError('Internal', 'is a directory'));
    await other.create(makeStoredPod({ restartPolicy: 'Never', containers: [speaking()] }));
    await other.clock.advance(5_000);
    expect(ofC(other)?.state?.terminated?.message).toBe(`Error on reading termination log ${PATH}: is a directory`);
  });
});
