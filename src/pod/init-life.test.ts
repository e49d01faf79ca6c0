import { describe, expect, it } from 'vitest';
import type { PodStatus } from '../model/pod.ts';
import { makeContainer, makeStoredPod, POD_UID } from '../testing/builders.ts';
import { type Harness, startedHarness } from '../testing/harness.ts';

const always = { restartPolicy: 'Always' };

function seen(harness: Harness, text: (status: PodStatus) => string): string[] {
  const texts = harness.statuses.map(text);
  return texts.filter((one, index) => one !== texts[index - 1]);
}

const short = (status: PodStatus): string =>
  [
    status.phase,
    ...[...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
      ({ name, state = {}, restartCount }) => `${name}:${Object.keys(state)[0]}#${restartCount}`,
    ),
  ].join(' ');

describe('a pod with init containers', () => {
  it('runs them one after the other, then what it is for', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'i' }, { exitAfterMs: 1_000 });
    harness.backend.script({ container: 'j' }, { exitAfterMs: 1_000 });
    await harness.create(makeStoredPod({ initContainers: [makeContainer('i'), makeContainer('j')] }));
    await harness.clock.advance(5_000);
    expect(seen(harness, short)).toEqual([
      'Pending i:waiting#0 j:waiting#0 c:waiting#0',
      'Pending i:running#0 j:waiting#0 c:waiting#0',
      'Pending i:terminated#0 j:waiting#0 c:waiting#0',
      'Pending i:terminated#0 j:running#0 c:waiting#0',
      'Pending i:terminated#0 j:terminated#0 c:waiting#0',
      'Running i:terminated#0 j:terminated#0 c:running#0',
    ]);
  });

  it('fails when one of them fails for good', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'i' }, { exitAfterMs: 1_000, exitCode: 3 });
    await harness.create(makeStoredPod({ restartPolicy: 'Never', initContainers: [makeContainer('i')] }));
    await harness.clock.advance(10_000);
    expect(harness.status(POD_UID).phase).toBe('Failed');
    expect(harness.containers()).toEqual(['i#0 exited']);
  });

  it('crash-loops in the init container that fails', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'i' }, { exitAfterMs: 1_000, exitCode: 3 });
    await harness.create(makeStoredPod({ initContainers: [makeContainer('i')] }));
    await harness.clock.advance(8_000);
    expect(harness.status(POD_UID).initContainerStatuses?.[0]?.state?.waiting?.reason).toBe('CrashLoopBackOff');
    expect(harness.events.some((event) => event.startsWith('BackOff: Back-off restarting failed container i'))).toBe(
      true,
    );
  });
});

describe('a pod with a sidecar', () => {
  const side = makeContainer('side', always);

  it('starts it first, and stops it last', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { ignoreStop: true });
    await harness.create(makeStoredPod({ initContainers: [side] }));
    await harness.clock.advance(1_000);
    expect(harness.events.filter((event) => event.startsWith('Started'))).toHaveLength(2);
    await harness.delete(POD_UID, 10);
    await harness.clock.advance(5_000);
    expect(harness.containers().sort()).toEqual(['c#0 running', 'side#0 running']);
    await harness.clock.advance(6_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    const last = harness.statuses.at(-1);
    const ends = [...(last?.initContainerStatuses ?? []), ...(last?.containerStatuses ?? [])];
    // The sidecar had no time left, and still its two seconds.
    expect(ends.map(({ name, state }) => `${name} ${state?.terminated?.exitCode}`)).toEqual(['side 143', 'c 137']);
  });

  it('ends with the main containers, and does not keep the pod from succeeding', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 2_000 });
    await harness.create(makeStoredPod({ restartPolicy: 'Never', initContainers: [side] }));
    await harness.clock.advance(40_000);
    expect(harness.status(POD_UID).phase).toBe('Succeeded');
    expect(seen(harness, short).slice(-2)).toEqual([
      'Running side:terminated#0 c:terminated#0',
      'Succeeded side:terminated#0 c:terminated#0',
    ]);
  });
});

describe('hooks', () => {
  const hook = (exec: string, kind: 'preStop' | 'postStart') =>
    makeContainer('c', { lifecycle: { [kind]: { exec: { command: ['sh', '-c', exec] } } } });

  it('before the stop run within the grace period', async () => {
    const harness = await startedHarness();
    const stopAt: number[] = [];
    harness.backend.answerExec(() => ({ afterMs: 3_000, exitCode: 0 }));
    await harness.create(makeStoredPod({ containers: [hook('sleep 3', 'preStop')] }));
    await harness.clock.advance(1_000);
    await harness.delete(POD_UID, 10);
    await harness.clock.advance(2_500);
    expect(harness.containers()).toEqual(['c#0 running']);
    await harness.clock.advance(2_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.events.filter((event) => event.startsWith('Killing'))).toEqual(['Killing: Stopping container c']);
    expect(stopAt).toEqual([]);
  });

  it('before the stop are left alone when the grace period is over', async () => {
    const harness = await startedHarness();
    harness.backend.answerExec(() => ({ afterMs: 600_000, exitCode: 0 }));
    await harness.create(makeStoredPod({ containers: [hook('sleep 600', 'preStop')] }));
    await harness.clock.advance(1_000);
    await harness.delete(POD_UID, 4);
    await harness.clock.advance(3_500);
    expect(harness.containers()).toEqual(['c#0 running']);
    await harness.clock.advance(3_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.events.some((event) => event.startsWith('FailedPreStopHook'))).toBe(false);
  });

  it('before the stop that fail are told of, and change nothing else', async () => {
    const harness = await startedHarness();
    harness.backend.answerExec(() => ({ afterMs: 100, exitCode: 1 }));
    await harness.create(makeStoredPod({ containers: [hook('false', 'preStop')] }));
    await harness.clock.advance(1_000);
    await harness.delete(POD_UID, 10);
    await harness.clock.advance(5_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.events).toContain('FailedPreStopHook: PreStopHook failed');
  });

  it('after the start hold up the containers that follow, and the status', async () => {
    const harness = await startedHarness();
    harness.backend.answerExec(() => ({ afterMs: 5_000, exitCode: 0 }));
    await harness.create(makeStoredPod({ containers: [hook('sleep 5', 'postStart'), makeContainer('d')] }));
    await harness.clock.advance(4_000);
    expect(harness.containers()).toEqual(['c#0 running']);
    expect(seen(harness, short)).toEqual(['Pending c:waiting#0 d:waiting#0']);
    await harness.clock.advance(3_000);
    expect(seen(harness, short).at(-1)).toBe('Running c:running#0 d:running#0');
  });

  it('after the start that fail end the container, which starts again (reference 2.11)', async () => {
    const harness = await startedHarness();
    harness.backend.answerExec(() => ({ afterMs: 100, exitCode: 1, stderr: 'no' }));
    await harness.create(makeStoredPod({ containers: [hook('false', 'postStart')] }));
    await harness.clock.advance(5_000);
    expect(harness.events).toContain('FailedPostStartHook: PostStartHook failed');
    expect(harness.events).toContain('Killing: FailedPostStartHook');
    const reasons = harness.statuses.map((status) => status.containerStatuses?.[0]?.state?.waiting?.reason);
    expect(reasons).toContain('PostStartHookError');
    expect(harness.containers().some((one) => one.startsWith('c#1'))).toBe(true);
  });
});
