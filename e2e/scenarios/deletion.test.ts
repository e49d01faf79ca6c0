import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { containerStatus, eventually, type Scene, shell, type StoredPod } from '../scene.ts';

matrix('deletion', ({ test }) => {
  test('a pod that obeys SIGTERM goes at once, its last status tells how its container ended', async (scene) => {
    await scene.create('polite', shell("trap 'echo bye; exit 5' TERM; sleep 3600 & wait"), {
      terminationGracePeriodSeconds: 60,
    });
    await scene.ready('polite');
    const last = lastWords(scene, 'polite');
    const start = performance.now();
    await scene.delete('polite');
    const { status } = await last;
    expect(performance.now() - start).toBeLessThan(50_000);
    expect(status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 5, reason: 'Error' });
    expect(status?.phase).toBe('Failed');
    await scene.event('polite', /^Normal Killing Stopping container main/);
  });

  test('a pod that ignores SIGTERM is killed when its grace period is over', async (scene) => {
    await scene.create('deaf', shell("trap '' TERM; sleep 3600"), { terminationGracePeriodSeconds: 3 });
    await scene.ready('deaf');
    const last = lastWords(scene, 'deaf');
    const start = performance.now();
    await scene.delete('deaf');
    const { status } = await last;
    expect(performance.now() - start).toBeGreaterThanOrEqual(2_900);
    expect(status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 137 });
  });

  test(
    'a pod that takes long to end is hurried when it is removed by force',
    async (scene) => {
      await scene.create('slow', shell("trap '' TERM; sleep 3600"), { terminationGracePeriodSeconds: 600 });
      const { metadata } = await scene.ready('slow');
      await scene.delete('slow');
      await scene.event('slow', /^Normal Killing /);
      await scene.delete('slow', 0);
      expect(await scene.kube.find('Pod', 'slow', scene.namespace)).toBeUndefined();
      await eventually('what it ran to be gone', async () => (await scene.containersOf(metadata.uid)).length === 0);
    },
    { needs: ['realContainers'] },
  );

  test(
    'a pod that waits in a crash loop goes without waiting',
    async (scene) => {
      await scene.create('looping', shell('exit 1'), { terminationGracePeriodSeconds: 30 });
      await scene.until(
        'looping',
        'started once',
        (pod) => pod.status?.containerStatuses?.[0]?.lastState !== undefined,
      );
      const start = performance.now();
      await scene.delete('looping');
      await scene.gone('looping');
      expect(performance.now() - start).toBeLessThan(25_000);
    },
    { needs: ['containerRestarts'] },
  );

  test('a pod with a finalizer stops, and its object stays until the finalizer is taken away', async (scene) => {
    await scene.create('held');
    await scene.ready('held');
    const { kube, namespace } = scene;
    await kube.patch('Pod', 'held', { metadata: { finalizers: ['example.com/hold'] } }, { namespace });
    await scene.delete('held');
    const pod = await scene.until('held', 'stopped', ({ status }) =>
      Boolean(status?.containerStatuses?.[0]?.state?.terminated),
    );
    expect(pod.metadata.deletionTimestamp).toBeDefined();
    await kube.patch('Pod', 'held', { metadata: { finalizers: null } }, { namespace });
    await scene.gone('held');
  });

  test('a pod that is deleted and made again under the same name is a new pod', async (scene) => {
    const first = await scene.create('phoenix').then(() => scene.ready('phoenix'));
    await scene.delete('phoenix');
    await scene.gone('phoenix');
    await scene.create('phoenix');
    const second = await scene.ready('phoenix');
    expectAnother(second, first);
  });

  test('a pod removed by force is gone at once, and what it ran soon after', async (scene) => {
    const first = await scene.create('forced').then(() => scene.ready('forced'));
    await scene.delete('forced', 0);
    expect(await scene.kube.find('Pod', 'forced', scene.namespace)).toBeUndefined();
    await scene.create('forced');
    const second = await scene.ready('forced');
    expectAnother(second, first);
    if (scene.offers('realContainers')) {
      await eventually(
        'the containers of the first to be gone',
        async () => (await scene.containersOf(first.metadata.uid)).length === 0,
      );
      expect((await scene.containersOf(second.metadata.uid)).length).toBe(2);
    }
  });
});

function expectAnother(second: StoredPod, first: StoredPod): void {
  expect(second.metadata.uid).not.toBe(first.metadata.uid);
  expect(containerStatus(second).containerID).not.toBe(containerStatus(first).containerID);
  expect(containerStatus(second)).toMatchObject({ restartCount: 0, ready: true });
  expect(containerStatus(second).lastState).toEqual({});
}

/** The pod as it was when its object went. */
async function lastWords({ kube, namespace }: Scene, name: string): Promise<StoredPod> {
  const signal = AbortSignal.timeout(80_000);
  for await (const { type, object } of kube.watch('Pod', namespace, {
    signal,
    fieldSelector: `metadata.name=${name}`,
  })) {
    if (type === 'DELETED') return object;
  }
  throw new Error(`the watch ended before ${name} was deleted`);
}
