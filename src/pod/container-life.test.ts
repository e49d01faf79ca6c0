import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../providers/contract/index.ts';
import { FAKE_TRAITS } from '../../providers/fake/traits.ts';
import { exited, makeContainer, makeStoredPod, POD_UID } from '../testing/builders.ts';
import { settle } from '../testing/fake-clock.ts';
import { Harness, startedHarness } from '../testing/harness.ts';
import { VolumeError } from './ports.ts';

const state = (harness: Harness) => harness.status(POD_UID).containerStatuses?.[0];

describe('a pod on a container-level backend', () => {
  it('tells what it does by the events of the kubelet (reference 3.3)', async () => {
    const harness = await startedHarness();
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    await harness.delete(POD_UID, 1);
    await harness.clock.advance(5_000);
    expect(harness.events).toEqual([
      'Created: Container created',
      'Started: Container started',
      'Killing: Stopping container c',
    ]);
  });

  it('crash-loops at 0, 10, 20, 40 s after each exit (reference 2.4)', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 7 });
    await harness.create(makeStoredPod());
    const starts: number[] = [];
    const origin = harness.clock.now();
    for (let seconds = 0; seconds < 80; seconds += 1) {
      await harness.clock.advance(1_000);
      const count = state(harness)?.restartCount ?? 0;
      if (count > starts.length) starts.push(Math.round((harness.clock.now() - origin) / 1_000));
    }
    expect(starts).toEqual([1, 12, 33, 74]);
    expect(harness.events.filter((event) => event.startsWith('BackOff'))).toHaveLength(4);
    expect(
      harness.statuses.some((status) =>
        status.containerStatuses?.[0]?.state?.waiting?.message?.startsWith(
          'back-off 20s restarting failed container=c pod=p_ns(',
        ),
      ),
    ).toBe(true);
  });

  it('says Running once of a container that ended at once', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 0, exitCode: 0 });
    await harness.create(makeStoredPod({ restartPolicy: 'Never' }));
    await harness.clock.advance(100);
    const phases = harness.statuses.map(({ phase }) => phase);
    expect(phases.filter((phase, index) => phase !== phases[index - 1])).toEqual(['Pending', 'Running', 'Succeeded']);
  });

  it('restarts a container in place when its image is changed', async () => {
    const harness = await startedHarness();
    await harness.create(makeStoredPod({ restartPolicy: 'Never' }));
    await harness.clock.advance(100);
    await harness.create(
      makeStoredPod({ restartPolicy: 'Never', containers: [makeContainer('c', { image: 'other:2' })] }),
    );
    await harness.clock.advance(5_000);
    expect(harness.containers()).toEqual(['c#0 exited', 'c#1 running']);
    expect(harness.events).toContain('Killing: Container c definition changed, will be restarted');
  });

  it('shows each exit before the restart that follows at once', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c', attempt: 0 }, { exitAfterMs: 1_000, exitCode: 7 });
    await harness.create(makeStoredPod());
    await harness.clock.advance(2_000);
    const seen = harness.statuses
      .map((status) => status.containerStatuses?.[0])
      .map((entry) => `${Object.keys(entry?.state ?? {})[0]}#${entry?.restartCount}`);
    expect(seen.filter((text, index) => text !== seen[index - 1])).toEqual([
      'waiting#0',
      'running#0',
      'terminated#0',
      'running#1',
    ]);
  });

  it('kills what ignores its stop signal when the grace period is over (reference 2.10)', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { ignoreStop: true });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    await harness.delete(POD_UID, 5);
    await harness.clock.advance(4_500);
    expect(harness.containers()).toEqual(['c#0 running']);
    await harness.clock.advance(1_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    const last = harness.statuses.at(-1);
    expect(last?.phase).toBe('Failed');
    expect(last?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(137);
  });

  it('is hurried when it is removed by force while it stops', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { ignoreStop: true });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    await harness.delete(POD_UID, 600);
    await harness.clock.advance(10_000);
    await harness.forceDelete(POD_UID);
    await harness.clock.advance(3_000);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('does not wait for a slow pull when it is deleted', async () => {
    const harness = await startedHarness();
    harness.backend.images.pullMs = 600_000;
    await harness.create(makeStoredPod());
    await harness.clock.advance(1_000);
    await harness.delete(POD_UID, 30);
    await harness.clock.advance(5_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('shows RunContainerError for a command that cannot start, then backs off (reference 1.5)', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { startError: 'no such file' });
    await harness.create(makeStoredPod());
    await harness.clock.advance(3_000);
    const reasons = harness.statuses
      .map((status) => status.containerStatuses?.[0])
      .map((entry) => `${entry?.state?.waiting?.reason}#${entry?.restartCount}`);
    expect(reasons.filter((text, index) => text !== reasons[index - 1])).toEqual([
      'ContainerCreating#0',
      'RunContainerError#0',
      'RunContainerError#1',
      'CrashLoopBackOff#1',
    ]);
  });

  it('makes a lost reply good: the container that was made is found, not made again', async () => {
    const harness = await startedHarness();
    harness.backend.faults.loseReply('startContainer');
    await harness.create(makeStoredPod());
    await harness.clock.advance(10_000);
    expect(harness.containers()).toEqual(['c#0 running']);
  });

  it('gets a new sandbox and new containers when its sandbox died (reference 2.13)', async () => {
    const harness = await startedHarness();
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    harness.backend.killSandbox(POD_UID);
    await harness.clock.advance(20_000);
    expect(harness.containers()).toContain('c#1 running');
    expect(harness.events).toContain('SandboxChanged: Pod sandbox changed, it will be killed and re-created.');
    expect(state(harness)?.restartCount).toBe(1);
  });

  it('restarts a container killed outside and runs the others on', async () => {
    const harness = await startedHarness();
    await harness.create(makeStoredPod({ containers: [makeContainer('a'), makeContainer('b')] }));
    await harness.clock.advance(100);
    harness.backend.exit(
      { podUid: POD_UID, container: 'b', attempt: 0 },
      { exitCode: exited(137).exitCode, signal: 9 },
    );
    await harness.clock.advance(1_000);
    expect(harness.containers().sort()).toEqual(['a#0 running', 'b#0 exited', 'b#1 running']);
  });

  it.each([true, false])(
    'is told when a backend keeps the old content of a volume (%s), once per change',
    async (fixedContent) => {
      let revision = 1;
      const harness = await startedHarness({
        fixedContent,
        volumes: () => [{ kind: 'files', name: 'v', files: [], revision: String(revision), medium: 'disk' }],
      });
      await harness.create(makeStoredPod());
      await harness.clock.advance(100);
      revision = 2;
      for (let i = 0; i < 2; i++) {
        harness.workers.volumesChanged(POD_UID);
        await harness.clock.advance(100);
      }
      const told = harness.events.filter((event) => event.startsWith('VolumeContentFixed'));
      expect(told).toHaveLength(fixedContent ? 1 : 0);
      expect(harness.backend.faults.callsOf('updateFiles')).toHaveLength(fixedContent ? 0 : 1);
    },
  );

  it('restarts on the volumes it has when an object they came from is gone', async () => {
    let resolvable = true;
    const harness = await startedHarness({
      volumes: () => {
        if (!resolvable) throw new VolumeError('v', 'configmap "x" not found');
        return [{ kind: 'files', name: 'v', files: [], revision: '1', medium: 'disk' }];
      },
    });
    harness.backend.script({ container: 'c', attempt: 0 }, { exitAfterMs: 1_000, exitCode: 1 });
    await harness.create(makeStoredPod());
    await harness.clock.advance(100);
    resolvable = false;
    await harness.clock.advance(2_000);
    expect(harness.containers()).toEqual(['c#0 exited', 'c#1 running']);
  });

  it('tells a volume that cannot be had and starts when it can (reference 9.3)', async () => {
    let resolvable = false;
    const harness = await startedHarness({
      volumes: () => {
        if (!resolvable) throw new VolumeError('v', 'configmap "x" not found');
        return [];
      },
    });
    await harness.create(makeStoredPod());
    await harness.clock.advance(1_000);
    expect(harness.events[0]).toBe('FailedMount: MountVolume.SetUp failed for volume "v" : configmap "x" not found');
    expect(state(harness)?.state?.waiting?.reason).toBe('ContainerCreating');
    resolvable = true;
    await harness.clock.advance(5_000);
    expect(harness.status(POD_UID).phase).toBe('Running');
  });

  it('keeps crash-looping while the API server is away and reports when it is back', async () => {
    const harness = await startedHarness();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 1 });
    await harness.create(makeStoredPod());
    harness.apiAway = true;
    await harness.clock.advance(60_000);
    expect(harness.containers().some((text) => text.startsWith('c#3'))).toBe(true);
    harness.apiAway = false;
    await harness.clock.advance(90_000);
    expect(state(harness)?.restartCount).toBeGreaterThanOrEqual(3);
  });

  it('does nothing at all while idle', async () => {
    const harness = await startedHarness();
    await harness.create(makeStoredPod());
    await harness.clock.advance(1_000);
    const { length } = harness.statuses;
    await harness.clock.advance(600_000);
    expect(harness.statuses).toHaveLength(length);
  });

  it('waits for the pod network of the node (reference 5.7)', async () => {
    const harness = new Harness({ traits: { network: { ...FAKE_TRAITS.network, subnet: 'required' } } });
    const { podCidr, ...facts } = harness.facts;
    harness.facts = facts;
    await harness.start();
    await harness.create(makeStoredPod());
    await harness.clock.advance(5_000);
    expect(harness.backend.pods.size).toBe(0);
    expect(harness.events[0]).toMatch(/^NetworkNotReady: network is not ready: /);
    harness.facts = { ...facts, ...(podCidr === undefined ? {} : { podCidr }) };
    await harness.clock.advance(2_000);
    expect(harness.status(POD_UID).phase).toBe('Running');
  });

  it('fails for good when the backend can never run it', async () => {
    const harness = await startedHarness();
    harness.backend.faults.failNext('ensureSandbox', new ProviderError('InvalidSpec', 'no such network mode'));
    await harness.create(makeStoredPod());
    await settle();
    await harness.clock.advance(100);
    expect(harness.status(POD_UID)).toMatchObject({
      phase: 'Failed',
      reason: 'ProviderUnsupported',
      message: 'Pod was rejected: no such network mode',
    });
  });
});
