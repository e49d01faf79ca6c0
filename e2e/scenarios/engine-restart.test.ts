import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { expectCleanNode, inNamespace, podsGone, REAL } from '../matrix.ts';
import { ensureImages } from '../parts/images.ts';
import { isTrue } from '../parts/kube.ts';
import { PrivateEngine } from '../parts/private-engine.ts';
import { Progress } from '../parts/progress.ts';
import { TestBed } from '../parts/test-bed.ts';
import { containerStatus, isReady, PATIENCE_MS, restarts, type Scene, shell, type StoredPod } from '../scene.ts';

// On engines of their own, which nobody else uses.
describe.concurrent('the engine restarts', () => {
  let bed: TestBed;
  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
  });
  afterAll(async () => {
    await bed.close();
  });

  /** A node on an engine of its own, in a namespace of its own; all of it is gone afterwards. */
  async function onOwnEngine(
    name: string,
    liveRestore: boolean,
    body: (scene: Scene, engine: PrivateEngine) => Promise<void>,
  ) {
    const engine = new PrivateEngine({ dir: join(bed.run.dir, name), liveRestore });
    try {
      await engine.start();
      await ensureImages(engine.docker, ['pause', 'busybox'], new Progress());
      const { socket, docker } = engine;
      const outrigger = await bed.startNode(bed.nodeName(name), { socket, providerConfig: { socketPath: socket } });
      await inNamespace({ bed, outrigger, docker, backend: REAL }, (scene) => body(scene, engine));
      await podsGone(outrigger.nodeName, bed.kube);
      // Engines before 24 lose count of a tmpfs in a live restore, and let go of it only when they start anew.
      if (liveRestore) await engine.restart();
      await expectCleanNode(bed, outrigger, bed.kube, docker);
      await outrigger.stop();
    } finally {
      await engine.destroy();
    }
  }

  it('without live-restore: the node says so, and pods restart in new sandboxes', () =>
    onOwnEngine('eng-off', false, async (scene, engine) => {
      await scene.create('web');
      await scene.create('once', shell('sleep 3600'), { restartPolicy: 'Never' });
      await scene.create('past', shell('exit 0'), { restartPolicy: 'Never' });
      const web = await scene.ready('web');
      await scene.ready('once');
      const past = await scene.phase('past', 'Succeeded');
      await engine.stopDaemon();
      await notReady(scene);
      await engine.start();
      await scene.outrigger.waitReady(scene.kube, PATIENCE_MS);
      const after = await scene.until('web', 'restarted', (pod) => restarts(pod) === 1 && isReady(pod));
      expect(containerStatus(after).containerID).not.toBe(containerStatus(web).containerID);
      expect(containerStatus(after).lastState?.terminated?.containerID).toBe(containerStatus(web).containerID);
      const once = await scene.phase('once', 'Failed');
      expect(restarts(once)).toBe(0);
      expect((await scene.get('past')).status?.containerStatuses).toEqual(past.status?.containerStatuses);
      await scene.create('later');
      await scene.ready('later');
    }));

  it('with live-restore: the node says so, and no container notices', () =>
    onOwnEngine('eng-on', true, async (scene, engine) => {
      await scene.create('web');
      const web = await scene.ready('web');
      await engine.stopDaemon();
      await notReady(scene);
      // Deleted while nobody can stop it: it ends when the engine is back.
      await scene.create('doomed');
      await scene.delete('doomed');
      expect(ours(await scene.get('web'))).toEqual(ours(web));
      await engine.start();
      await scene.outrigger.waitReady(scene.kube, PATIENCE_MS);
      await scene.gone('doomed');
      await scene.create('later');
      await scene.ready('later');
      const after = await scene.ready('web');
      expect(containerStatus(after)).toEqual(containerStatus(web));
      expect(after.status?.podIP).toBe(web.status?.podIP);
    }));

  it('it crashes and comes back with live-restore: no container notices', () =>
    onOwnEngine('eng-crash', true, async (scene, engine) => {
      await scene.create('web');
      const web = await scene.ready('web');
      await engine.crashDaemon();
      await engine.start();
      await scene.create('later');
      await scene.ready('later');
      const after = await scene.ready('web');
      expect(containerStatus(after)).toEqual(containerStatus(web));
    }));
});

/** What a kubelet writes of a pod; the node controller sets Ready to False on a node that is not. */
function ours({ status }: StoredPod) {
  return [status?.phase, status?.podIP, status?.containerStatuses];
}

async function notReady({ kube, node }: Scene): Promise<void> {
  const object = await kube.waitFor('Node', node, 'NotReady', ({ status }) => !isTrue(status?.conditions, 'Ready'), {
    timeoutMs: PATIENCE_MS,
  });
  const ready = object.status?.conditions?.find(({ type }) => type === 'Ready');
  expect(ready).toMatchObject({ status: 'False', reason: 'KubeletNotReady' });
  expect(ready?.message).toMatch(
    /^\[container runtime is down, container runtime not ready: RuntimeReady=false reason:/,
  );
}
