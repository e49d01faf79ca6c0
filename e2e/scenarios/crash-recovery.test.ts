import { expect } from 'vitest';
import { EngineEvents } from '../engine-events.ts';
import { matrix } from '../matrix.ts';
import { sleep } from '../parts/wait.ts';
import { seeded } from '../random.ts';
import { containerStatus, eventually, isReady, restarts, type Scene, shell, type StoredPod } from '../scene.ts';

// Each test kills the process that the node runs in, so none of them shares its node with another.
matrix(
  'crash recovery',
  ({ test }) => {
    test('kill -9 while pods run: they are adopted, those deleted meanwhile are cleaned up, one made again is a new pod', async (scene) => {
      const node = await ownNode(scene, 'adopt');
      const names = ['stays-1', 'stays-2', 'stays-3', 'deleted', 'forced', 'again'];
      using engine = await EngineEvents.record(node);
      for (const name of names) await node.create(name);
      const before = new Map<string, StoredPod>();
      for (const name of names) before.set(name, await node.ready(name));
      await node.outrigger.kill9();

      await node.delete('deleted');
      await node.delete('forced', 0);
      await node.delete('again', 0);
      await node.create('again');
      await node.create('new');
      await node.outrigger.start();

      const again = await node.ready('again');
      await node.ready('new');
      await node.gone('deleted');
      for (const name of ['deleted', 'forced', 'again']) {
        const { uid } = before.get(name)?.metadata ?? { uid: '' };
        await eventually(`what ${name} ran to be gone`, async () => (await node.containersOf(uid)).length === 0);
      }
      const first = before.get('again');
      expect(again.metadata.uid).not.toBe(first?.metadata.uid);
      expect(containerStatus(again)).toMatchObject({ restartCount: 0, ready: true });
      for (const name of names.filter((name) => name.startsWith('stays'))) {
        const pod = await node.ready(name);
        expect(containerStatus(pod)).toEqual(containerStatus(before.get(name) ?? pod));
        expect(pod.status?.podIP).toBe(before.get(name)?.status?.podIP);
        expect(engine.of(pod)).toEqual(['create', 'create', 'start', 'start']);
      }
    });

    test('kill -9 at any moment while pods start: each container is made once and none restarts', async (scene) => {
      const node = await ownNode(scene, 'starts');
      const random = seeded(20261130);
      const names = Array.from({ length: 10 }, (_, i) => `pod-${i}`);
      using engine = await EngineEvents.record(node);
      const created = Promise.all(names.map((name) => node.create(name)));
      for (let kill = 0; kill < 4; kill++) {
        await sleep(random() * 1_500);
        await node.outrigger.kill9();
        await node.outrigger.start();
      }
      await created;
      for (const name of names) {
        const pod = await node.ready(name);
        expect(restarts(pod), name).toBe(0);
        const containers = await node.containersOf(pod.metadata.uid);
        expect(
          containers.map(({ State }) => State),
          name,
        ).toEqual(['running', 'running']);
        expect(engine.of(pod, 'main'), name).toEqual(['create', 'start']);
      }
    });

    test('kill -9 at any moment while pods end: nothing is left of them', async (scene) => {
      const node = await ownNode(scene, 'ends');
      const random = seeded(1130);
      const names = Array.from({ length: 8 }, (_, i) => `pod-${i}`);
      // Half of them need their grace period.
      await Promise.all(
        names.map((name, i) => node.create(name, i % 2 === 0 ? {} : shell("trap '' TERM; sleep 3600"))),
      );
      const pods = await Promise.all(names.map((name) => node.ready(name)));
      await Promise.all(names.map((name) => node.delete(name)));
      for (let kill = 0; kill < 3; kill++) {
        await sleep(random() * 1_500);
        await node.outrigger.kill9();
        await node.outrigger.start();
      }
      await Promise.all(names.map((name) => node.gone(name)));
      for (const { metadata } of pods) {
        await eventually(
          `what ${metadata.name} ran to be gone`,
          async () => (await node.containersOf(metadata.uid)).length === 0,
        );
      }
    });

    test('what ended while the process was dead is told as it was, and restarts only if its policy says so', async (scene) => {
      const node = await ownNode(scene, 'ended');
      await node.create('finishes', shell('sleep 8; exit 3'), { restartPolicy: 'Never' });
      await node.create('again', shell('sleep 8; exit 4'));
      const running = ({ status }: StoredPod): boolean => Boolean(status?.containerStatuses?.[0]?.state?.running);
      const pods = [await node.until('finishes', 'running', running), await node.until('again', 'running', running)];
      await node.outrigger.kill9();
      for (const { metadata } of pods) {
        await eventually(`the container of ${metadata.name} to end`, async () =>
          (await node.containersOf(metadata.uid)).some(({ State }) => State === 'exited'),
        );
      }
      await node.outrigger.start();
      const finished = await node.phase('finishes', 'Failed');
      expect(containerStatus(finished)).toMatchObject({ restartCount: 0, state: { terminated: { exitCode: 3 } } });
      const again = await node.until('again', 'restarted', (pod) => restarts(pod) >= 1);
      expect(containerStatus(again).lastState?.terminated ?? containerStatus(again).state?.terminated).toMatchObject({
        exitCode: 4,
      });
    });

    test('an orderly stop and start leaves pods alone as well', async (scene) => {
      const node = await ownNode(scene, 'orderly');
      await node.create('web');
      const before = await node.ready('web');
      await node.outrigger.restart();
      await node.create('next');
      await node.ready('next');
      const after = await node.get('web');
      expect(isReady(after)).toBe(true);
      expect(containerStatus(after)).toEqual(containerStatus(before));
    });
  },
  { needs: ['outlivesProcess'] },
);

async function ownNode(scene: Scene, name: string): Promise<Scene> {
  return scene.on(await scene.startNode(name));
}
