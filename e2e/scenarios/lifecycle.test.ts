import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { IMAGES } from '../parts/images.ts';
import { containerStatus, restarts, type Scene, type StoredPod, shell, UNTIL_TOLD } from '../scene.ts';

matrix('lifecycle', ({ test }) => {
  test('a pod goes from Pending through Running to Ready, in this order', async (scene) => {
    const seen = recordPhases(scene);
    const created = await scene.create('web');
    expect(created.status?.phase).toBe('Pending');
    const pod = await scene.ready('web');
    expect(pod.status?.phase).toBe('Running');
    expect(pod.status?.podIP).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
    expect(pod.status?.podIPs).toEqual([{ ip: pod.status?.podIP }]);
    expect(pod.status?.startTime).toBeDefined();
    expect(pod.status?.qosClass).toBe('BestEffort');
    expect(conditions(pod)).toMatchObject({
      PodScheduled: 'True',
      Initialized: 'True',
      ContainersReady: 'True',
      Ready: 'True',
    });
    const main = containerStatus(pod);
    expect(main).toMatchObject({ ready: true, started: true, restartCount: 0, image: IMAGES.busybox });
    expect(main.state?.running?.startedAt).toBeDefined();
    expect(main.containerID).toMatch(/^\w+:\/\/\S+$/);
    expect(main.imageID).not.toBe('');
    expect(await seen.stop()).toEqual(['Pending', 'Running']);
    await scene.event('web', /^Normal Created /);
  });

  test('a pod whose containers all end well and are not to restart has Succeeded', async (scene) => {
    await scene.create('good', shell('sleep 1; exit 0'), { restartPolicy: 'Never' });
    const pod = await scene.phase('good', 'Succeeded');
    expect(containerStatus(pod).state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect(containerStatus(pod).state?.terminated?.finishedAt).toBeDefined();
    expect(conditionReasons(pod)).toMatchObject({ Ready: 'PodCompleted', ContainersReady: 'PodCompleted' });
  });

  test('a pod with a container that ended badly and is not to restart has Failed, once the others have ended', async (scene) => {
    await scene.create(
      'mixed',
      {},
      {
        restartPolicy: 'Never',
        containers: [
          { name: 'bad', image: IMAGES.busybox, ...shell('exit 3') },
          { name: 'slow', image: IMAGES.busybox, ...shell('sleep 3; exit 0') },
        ],
      },
    );
    const early = await scene.until('mixed', 'half ended', (pod) =>
      Boolean(pod.status?.containerStatuses?.some(({ state }) => state?.terminated)),
    );
    if (containerStatus(early, 'slow').state?.terminated === undefined) expect(early.status?.phase).toBe('Running');
    const pod = await scene.phase('mixed', 'Failed');
    expect(containerStatus(pod, 'bad').state?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(containerStatus(pod, 'slow').state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    expect(conditionReasons(pod)['Ready']).toBe('PodFailed');
  });

  test('OnFailure leaves a good end alone', async (scene) => {
    await scene.create('done', shell('exit 0'), { restartPolicy: 'OnFailure' });
    const pod = await scene.phase('done', 'Succeeded');
    expect(restarts(pod)).toBe(0);
  });

  test('OnFailure restarts a bad end', async (scene) => {
    await scene.create('retried', shell('exit 4'), { restartPolicy: 'OnFailure' });
    const pod = await scene.until('retried', 'restarted', (pod) => restarts(pod) >= 1);
    expect(pod.status?.phase).toBe('Running');
  });

  test(
    'a crash loop waits 10 s and more between restarts, and says so',
    async (scene) => {
      await scene.create('crash', shell('exit 1'));
      // On a machine that stands still for seconds the first back-off may be over before anybody looks: any of them will do.
      const looping = await scene.until('crash', 'in CrashLoopBackOff', inCrashLoop);
      const { uid } = looping.metadata;
      const before = restarts(looping);
      const delaySeconds = 10 * 2 ** (before - 1);
      expect(containerStatus(looping).state?.waiting?.message).toBe(
        `back-off ${delaySeconds}s restarting failed container=main pod=crash_${scene.namespace}(${uid})`,
      );
      expect(containerStatus(looping).lastState?.terminated).toMatchObject({ exitCode: 1, reason: 'Error' });
      expect(containerStatus(looping).ready).toBe(false);
      await scene.event('crash', /^Warning BackOff Back-off restarting failed container main in pod crash_/);
      const ended = Date.parse(containerStatus(looping).lastState?.terminated?.finishedAt ?? '');
      const again = await scene.until('crash', 'restarted once more', (pod) => restarts(pod) > before);
      const { state, lastState } = containerStatus(again);
      const second = state?.running ?? state?.terminated ?? lastState?.terminated;
      const started = Date.parse(second?.startedAt ?? '');
      // Both have whole seconds.
      expect(started - ended).toBeGreaterThanOrEqual((delaySeconds - 1) * 1000);
    },
    { needs: ['containerRestarts'] },
  );

  test(
    'a container that restarts leaves its neighbour alone',
    async (scene) => {
      await scene.create(
        'pair',
        {},
        {
          containers: [
            { name: 'bad', image: IMAGES.busybox, ...shell('sleep 1; exit 1') },
            { name: 'good', image: IMAGES.busybox, ...shell(UNTIL_TOLD) },
          ],
        },
      );
      const pod = await scene.until('pair', 'restarted', (pod) => restarts(pod, 'bad') >= 1);
      expect(containerStatus(pod, 'good')).toMatchObject({ restartCount: 0, ready: true });
      expect(pod.status?.phase).toBe('Running');
    },
    { needs: ['containerRestarts'] },
  );

  test(
    'the log of the incarnation before is still there',
    async (scene) => {
      await scene.create('twice', shell('echo one life; exit 1'));
      // Of ended incarnations the newest is kept (reference 7.9); while the next one waits, that is the one before.
      await scene.until('twice', 'in CrashLoopBackOff', inCrashLoop);
      expect(await scene.logs('twice', { previous: 'true' })).toBe('one life\n');
    },
    { needs: ['containerRestarts'] },
  );
});

function conditions({ status }: StoredPod): Record<string, string> {
  return Object.fromEntries((status?.conditions ?? []).map(({ type, status }) => [type, status]));
}

function conditionReasons({ status }: StoredPod): Record<string, string | undefined> {
  return Object.fromEntries((status?.conditions ?? []).map(({ type, reason }) => [type, reason]));
}

/** The phases of the scene's pods in the order in which a watch tells them, each once. */
function recordPhases({ kube, namespace }: Scene): { stop(): Promise<string[]> } {
  const abort = new AbortController();
  const phases: string[] = [];
  const following = (async () => {
    for await (const { object } of kube.watch('Pod', namespace, { signal: abort.signal })) {
      const phase = object.status?.phase ?? '';
      if (phases.at(-1) !== phase) phases.push(phase);
    }
  })().catch((error: unknown) => {
    if (!abort.signal.aborted) throw error;
  });
  return {
    async stop() {
      abort.abort();
      await following;
      return phases;
    },
  };
}

function inCrashLoop({ status }: StoredPod): boolean {
  const main = status?.containerStatuses?.[0];
  return main !== undefined && main.restartCount >= 1 && main.state?.waiting?.reason === 'CrashLoopBackOff';
}
