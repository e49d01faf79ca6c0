import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../providers/contract/index.ts';
import { FAKE_TRAITS } from '../../providers/fake/traits.ts';
import { exited, makeContainer, makePod, POD_UID } from '../testing/builders.ts';
import { settle } from '../testing/fake-clock.ts';
import { Harness, type HarnessOptions } from '../testing/harness.ts';
import { VolumeError } from './ports.ts';

type PodSpec = NonNullable<Parameters<typeof makePod>[0]>['spec'];

async function started(options: HarnessOptions = {}): Promise<Harness> {
  const harness = new Harness(options);
  await harness.start();
  return harness;
}

/** A pod as the API server gives it out: service links are always set there. */
const podOf = (spec: PodSpec = {}, metadata = {}) => makePod({ metadata, spec: { enableServiceLinks: true, ...spec } });
const state = (harness: Harness) => harness.status(POD_UID).containerStatuses?.[0];
const condition = (harness: Harness, type: string) =>
  harness.status(POD_UID).conditions?.find((entry) => entry.type === type)?.status;

describe.each(['container', 'pod'] as const)('a pod on a %s-level backend', (kind) => {
  it('becomes Running and Ready', async () => {
    const harness = await started({ kind });
    await harness.create(podOf());
    await harness.clock.advance(100);
    expect(harness.status(POD_UID).phase).toBe('Running');
    expect(condition(harness, 'Ready')).toBe('True');
    expect(state(harness)?.imageID).toMatch(/^sha256:/);
    expect(harness.containers()).toEqual(['c#0 running']);
  });

  it('ends Succeeded under restartPolicy Never', async () => {
    const harness = await started({ kind });
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 0 });
    await harness.create(podOf({ restartPolicy: 'Never' }));
    await harness.clock.advance(2_000);
    expect(harness.status(POD_UID).phase).toBe('Succeeded');
    expect(state(harness)?.state?.terminated?.exitCode).toBe(0);
    expect(harness.containers()).toEqual(['c#0 exited']);
  });

  it('is stopped, cleaned and deleted', async () => {
    const harness = await started({ kind });
    harness.backend.script({ container: 'c' }, { stopAfterMs: 3_000 });
    await harness.create(podOf());
    await harness.clock.advance(100);
    await harness.delete(POD_UID);
    expect(harness.objects.has(POD_UID)).toBe(true);
    await harness.clock.advance(3_500);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.backend.pods.size).toBe(0);
    expect(harness.workers.status(POD_UID)).toBeUndefined();
  });

  it('is cleaned when it was removed by force', async () => {
    const harness = await started({ kind });
    await harness.create(podOf());
    await harness.clock.advance(100);
    await harness.forceDelete(POD_UID);
    await harness.clock.advance(3_000);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('is adopted after a crash: nothing restarts and nothing is made twice (reference 17.1)', async () => {
    const harness = await started({ kind });
    await harness.create(podOf());
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
    const harness = await started({ kind });
    await harness.create(podOf());
    await harness.clock.advance(100);
    await harness.crash();
    harness.objects.delete(POD_UID);
    await harness.start();
    await harness.clock.advance(5_000);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('is another pod when its name returns with another UID', async () => {
    const harness = await started({ kind });
    await harness.create(podOf());
    await harness.clock.advance(100);
    await harness.crash();
    harness.objects.delete(POD_UID);
    await harness.start();
    const next = await harness.create(podOf({}, { uid: '99999999-2222-3333-4444-555555555555' }));
    await harness.clock.advance(5_000);
    expect(harness.status(next).phase).toBe('Running');
    expect([...harness.backend.pods.keys()]).toEqual([next]);
  });

  it('keeps its status and its containers while the backend cannot be asked (reference 17.5)', async () => {
    const harness = await started({ kind });
    await harness.create(podOf());
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
    const harness = await started({ kind });
    await harness.create(podOf());
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
    const harness = await started({ kind, admit: () => ({ reason: 'OutOfcpu', message: 'no room' }) });
    await harness.create(podOf());
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
    const harness = await started({
      admit: () => (labelled ? undefined : NO_MATCH),
      refreshNode: async () => {
        labelled = true;
      },
    });
    await harness.create(podOf());
    await harness.clock.advance(100);
    expect(harness.status(POD_UID).phase).toBe('Running');
    expect(harness.events.join()).not.toContain('NodeAffinity');
  });

  it('is refused once the Node was asked, also when it does not answer', async () => {
    let asked = 0;
    const harness = await started({
      admit: () => NO_MATCH,
      refreshNode: async () => {
        asked++;
        throw new Error('away');
      },
    });
    await harness.create(podOf());
    await harness.clock.advance(100_000);
    expect(harness.status(POD_UID)).toMatchObject({ phase: 'Failed', reason: 'NodeAffinity' });
    expect(harness.events).toEqual(['NodeAffinity: no']);
    expect(asked).toBe(1);
  });

  it('that is deleted meanwhile is stopped, not refused', async () => {
    const answer = Promise.withResolvers<void>();
    const harness = await started({ admit: () => NO_MATCH, refreshNode: () => answer.promise });
    await harness.create(podOf());
    await harness.clock.advance(100);
    await harness.delete(POD_UID, 1);
    answer.resolve();
    await harness.clock.advance(2_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.events).toEqual([]);
  });
});

describe('a pod on a container-level backend', () => {
  it('tells what it does by the events of the kubelet (reference 3.3)', async () => {
    const harness = await started();
    await harness.create(podOf());
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
    const harness = await started();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 7 });
    await harness.create(podOf());
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
    const harness = await started();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 0, exitCode: 0 });
    await harness.create(podOf({ restartPolicy: 'Never' }));
    await harness.clock.advance(100);
    const phases = harness.statuses.map(({ phase }) => phase);
    expect(phases.filter((phase, index) => phase !== phases[index - 1])).toEqual(['Pending', 'Running', 'Succeeded']);
  });

  it('restarts a container in place when its image is changed', async () => {
    const harness = await started();
    await harness.create(podOf({ restartPolicy: 'Never' }));
    await harness.clock.advance(100);
    await harness.create(podOf({ restartPolicy: 'Never', containers: [makeContainer('c', { image: 'other:2' })] }));
    await harness.clock.advance(5_000);
    expect(harness.containers()).toEqual(['c#0 exited', 'c#1 running']);
    expect(harness.events).toContain('Killing: Container c definition changed, will be restarted');
  });

  it('shows each exit before the restart that follows at once', async () => {
    const harness = await started();
    harness.backend.script({ container: 'c', attempt: 0 }, { exitAfterMs: 1_000, exitCode: 7 });
    await harness.create(podOf());
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
    const harness = await started();
    harness.backend.script({ container: 'c' }, { ignoreStop: true });
    await harness.create(podOf());
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
    const harness = await started();
    harness.backend.script({ container: 'c' }, { ignoreStop: true });
    await harness.create(podOf());
    await harness.clock.advance(100);
    await harness.delete(POD_UID, 600);
    await harness.clock.advance(10_000);
    await harness.forceDelete(POD_UID);
    await harness.clock.advance(3_000);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('does not wait for a slow pull when it is deleted', async () => {
    const harness = await started();
    harness.backend.images.pullMs = 600_000;
    await harness.create(podOf());
    await harness.clock.advance(1_000);
    await harness.delete(POD_UID, 30);
    await harness.clock.advance(5_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('shows RunContainerError for a command that cannot start, then backs off (reference 1.5)', async () => {
    const harness = await started();
    harness.backend.script({ container: 'c' }, { startError: 'no such file' });
    await harness.create(podOf());
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
    const harness = await started();
    harness.backend.faults.loseReply('startContainer');
    await harness.create(podOf());
    await harness.clock.advance(10_000);
    expect(harness.containers()).toEqual(['c#0 running']);
  });

  it('gets a new sandbox and new containers when its sandbox died (reference 2.13)', async () => {
    const harness = await started();
    await harness.create(podOf());
    await harness.clock.advance(100);
    harness.backend.killSandbox(POD_UID);
    await harness.clock.advance(20_000);
    expect(harness.containers()).toContain('c#1 running');
    expect(harness.events).toContain('SandboxChanged: Pod sandbox changed, it will be killed and re-created.');
    expect(state(harness)?.restartCount).toBe(1);
  });

  it('restarts a container killed outside and runs the others on', async () => {
    const harness = await started();
    await harness.create(podOf({ containers: [makeContainer('a'), makeContainer('b')] }));
    await harness.clock.advance(100);
    harness.backend.exit(
      { podUid: POD_UID, container: 'b', attempt: 0 },
      { exitCode: exited(137).exitCode, signal: 9 },
    );
    await harness.clock.advance(1_000);
    expect(harness.containers().sort()).toEqual(['a#0 running', 'b#0 exited', 'b#1 running']);
  });

  it('restarts on the volumes it has when an object they came from is gone', async () => {
    let resolvable = true;
    const harness = await started({
      volumes: () => {
        if (!resolvable) throw new VolumeError('v', 'configmap "x" not found');
        return [{ kind: 'files', name: 'v', files: [], revision: '1', medium: 'disk' }];
      },
    });
    harness.backend.script({ container: 'c', attempt: 0 }, { exitAfterMs: 1_000, exitCode: 1 });
    await harness.create(podOf());
    await harness.clock.advance(100);
    resolvable = false;
    await harness.clock.advance(2_000);
    expect(harness.containers()).toEqual(['c#0 exited', 'c#1 running']);
  });

  it('tells a volume that cannot be had and starts when it can (reference 9.3)', async () => {
    let resolvable = false;
    const harness = await started({
      volumes: () => {
        if (!resolvable) throw new VolumeError('v', 'configmap "x" not found');
        return [];
      },
    });
    await harness.create(podOf());
    await harness.clock.advance(1_000);
    expect(harness.events[0]).toBe('FailedMount: MountVolume.SetUp failed for volume "v" : configmap "x" not found');
    expect(state(harness)?.state?.waiting?.reason).toBe('ContainerCreating');
    resolvable = true;
    await harness.clock.advance(5_000);
    expect(harness.status(POD_UID).phase).toBe('Running');
  });

  it('keeps crash-looping while the API server is away and reports when it is back', async () => {
    const harness = await started();
    harness.backend.script({ container: 'c' }, { exitAfterMs: 1_000, exitCode: 1 });
    await harness.create(podOf());
    harness.apiAway = true;
    await harness.clock.advance(60_000);
    expect(harness.containers().some((text) => text.startsWith('c#3'))).toBe(true);
    harness.apiAway = false;
    await harness.clock.advance(90_000);
    expect(state(harness)?.restartCount).toBeGreaterThanOrEqual(3);
  });

  it('does nothing at all while idle', async () => {
    const harness = await started();
    await harness.create(podOf());
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
    await harness.create(podOf());
    await harness.clock.advance(5_000);
    expect(harness.backend.pods.size).toBe(0);
    expect(harness.events[0]).toMatch(/^NetworkNotReady: network is not ready: /);
    harness.facts = { ...facts, ...(podCidr === undefined ? {} : { podCidr }) };
    await harness.clock.advance(2_000);
    expect(harness.status(POD_UID).phase).toBe('Running');
  });

  it('fails for good when the backend can never run it', async () => {
    const harness = await started();
    harness.backend.faults.failNext('ensureSandbox', new ProviderError('InvalidSpec', 'no such network mode'));
    await harness.create(podOf());
    await settle();
    await harness.clock.advance(100);
    expect(harness.status(POD_UID)).toMatchObject({
      phase: 'Failed',
      reason: 'ProviderUnsupported',
      message: 'Pod was rejected: no such network mode',
    });
  });
});
