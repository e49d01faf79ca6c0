import { expect, it } from 'vitest';
import type { PodStatus } from '../model/pod.ts';
import { makeStoredPod, POD_UID } from '../testing/builders.ts';
import { type Harness, startedHarness } from '../testing/harness.ts';

/** A liveness probe gives the incarnation up; the prober would ask for a turn. */
async function giveUp(harness: Harness, attempt: number): Promise<void> {
  harness.probes.failures.set('c', { attempt, failure: { probe: 'liveness' } });
  harness.workers.post(POD_UID);
  await harness.clock.advance(100);
}

/** What the API server saw of the container, without repetitions. */
function seen(harness: Harness): string[] {
  const texts = harness.statuses.map((status) => `${status.phase} ${text(status)}`);
  return texts.filter((one, index) => one !== texts[index - 1]);
}

function text({ containerStatuses = [], conditions = [] }: PodStatus): string {
  const [entry] = containerStatuses;
  const sandbox = conditions.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
  return `sandbox=${sandbox} ${Object.keys(entry?.state ?? {})[0]}#${entry?.restartCount}`;
}

it('a container that its liveness probe gave up is replaced in one go (oracle case 054)', async () => {
  const harness = await startedHarness();
  await harness.create(makeStoredPod());
  await harness.clock.advance(100);
  await giveUp(harness, 0);
  await harness.clock.advance(1_000);
  expect(harness.containers()).toContain('c#1 running');
  expect(harness.events).toContain('Killing: Container c failed liveness probe, will be restarted');
  expect(seen(harness).slice(-2)).toEqual(['Running sandbox=True running#0', 'Running sandbox=True running#1']);
});

it('is replaced at once a second time, and waits in CrashLoopBackOff the third time (reference 2.4)', async () => {
  const harness = await startedHarness();
  await harness.create(makeStoredPod());
  await harness.clock.advance(1_000);
  await giveUp(harness, 0);
  await harness.clock.advance(1_000);
  await giveUp(harness, 1);
  await harness.clock.advance(1_000);
  expect(harness.containers()).toContain('c#2 running');
  await giveUp(harness, 2);
  await harness.clock.advance(5_000);
  expect(seen(harness).at(-1)).toBe('Running sandbox=True waiting#2');
  await harness.clock.advance(10_000);
  expect(harness.containers()).toContain('c#3 running');
});

it('a pod that may not restart is seen stopped before it is seen failed (oracle case 055)', async () => {
  const harness = await startedHarness();
  await harness.create(makeStoredPod({ restartPolicy: 'Never' }));
  await harness.clock.advance(100);
  await giveUp(harness, 0);
  await harness.clock.advance(5_000);
  expect(harness.events).toContain('Killing: Stopping container c');
  const last = seen(harness)
    .slice(-2)
    .map((one) => one.split('#')[0]);
  expect(last[0]).toBe('Running sandbox=False terminated');
  expect(last[1]).toMatch(/^(Failed|Succeeded) sandbox=False terminated/);
});

it('a unit is relaunched when a probe gave one of its containers up', async () => {
  const harness = await startedHarness({ kind: 'pod' });
  await harness.create(makeStoredPod());
  await harness.clock.advance(2_000);
  const before = harness.backend.pods.get(POD_UID)?.observe();
  await giveUp(harness, before?.containers[0]?.attempt ?? 0);
  await harness.clock.advance(30_000);
  expect(harness.events).toContain('Killing: Container c failed liveness probe, will be restarted');
  expect(harness.backend.pods.get(POD_UID)?.observe()).toMatchObject({ attempt: 1, state: 'ready' });
});

it('nothing is kept of the probes of a pod that is gone', async () => {
  const harness = await startedHarness();
  await harness.create(makeStoredPod());
  await harness.clock.advance(1_000);
  expect(harness.probes.inputs.size).toBe(1);
  await harness.delete(POD_UID, 1);
  await harness.clock.advance(5_000);
  expect(harness.probes.inputs.size).toBe(0);
});
