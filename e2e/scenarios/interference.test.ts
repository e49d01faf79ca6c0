import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { containerStatus, eventually, isReady, restarts, type Scene, shell, type StoredPod } from '../scene.ts';

// Somebody else lays hands on what the engine runs.
matrix(
  'interference',
  ({ test }) => {
    test('a container that is killed outside is told and restarted, in the same sandbox', async (scene) => {
      await scene.create('killed');
      const before = await scene.ready('killed');
      await scene.docker.killContainer((await containerOf(scene, before)).Id);
      const after = await scene.until('killed', 'running again', (pod) => restarts(pod) === 1 && isReady(pod));
      expect(containerStatus(after).lastState?.terminated).toMatchObject({ exitCode: 137, reason: 'Error' });
      expect(containerStatus(after).lastState?.terminated?.containerID).toBe(containerStatus(before).containerID);
      expect(containerStatus(after).containerID).not.toBe(containerStatus(before).containerID);
      expect(after.status?.podIP).toBe(before.status?.podIP);
    });

    test('a container that is killed outside and may not restart fails its pod', async (scene) => {
      await scene.create('mortal', {}, { restartPolicy: 'Never' });
      const before = await scene.ready('mortal');
      await scene.docker.killContainer((await containerOf(scene, before)).Id);
      const after = await scene.phase('mortal', 'Failed');
      expect(containerStatus(after).state?.terminated).toMatchObject({ exitCode: 137 });
    });

    test('a container that is removed outside is made again and counted', async (scene) => {
      await scene.create('removed');
      const before = await scene.ready('removed');
      await scene.docker.removeContainer((await containerOf(scene, before)).Id);
      const after = await scene.until('removed', 'running again', (pod) => restarts(pod) >= 1 && isReady(pod));
      expect(containerStatus(after).containerID).not.toBe(containerStatus(before).containerID);
    });

    test('a sandbox that is killed outside is replaced, and the containers start in the new one', async (scene) => {
      await scene.create('homeless');
      const before = await scene.ready('homeless');
      await scene.docker.killContainer((await containerOf(scene, before, 'POD')).Id);
      const after = await scene.until('homeless', 'running again', (pod) => restarts(pod) === 1 && isReady(pod));
      await scene.event('homeless', /^Normal SandboxChanged Pod sandbox changed, it will be killed and re-created\./);
      expect(after.status?.podIP).toMatch(/^\d+\./);
      const sandboxes = (await scene.containersOf(before.metadata.uid)).filter(
        ({ Labels, State }) => Labels['io.kubernetes.container.name'] === 'POD' && State === 'running',
      );
      expect(sandboxes).toHaveLength(1);
    });

    test('everything of a pod is removed outside: it runs again', async (scene) => {
      await scene.create('razed');
      const before = await scene.ready('razed');
      const { uid } = before.metadata;
      for (const { Id } of await scene.containersOf(uid)) await scene.docker.removeContainer(Id);
      const after = await scene.until(
        'razed',
        'running again',
        (pod) => isReady(pod) && containerStatus(pod).containerID !== containerStatus(before).containerID,
      );
      expect(restarts(after)).toBeGreaterThan(0);
    });

    test('containers of others are left alone', async (scene) => {
      await scene.create('neighbour');
      const pod = await scene.ready('neighbour');
      const sandbox = await containerOf(scene, pod, 'POD');
      const before = (await scene.docker.containers()).find(({ Id }) => Id === sandbox.Id);
      expect(before?.Labels['outrigger/node']).toBe(scene.node);
      await scene.create('deleted');
      await scene.ready('deleted');
      await scene.delete('deleted');
      await scene.gone('deleted');
      expect((await scene.containersOf(pod.metadata.uid)).map(({ State }) => State)).toEqual(['running', 'running']);
    });

    test('somebody else’s edit of our status is set right, a foreign condition stays', async (scene) => {
      const { kube, namespace } = scene;
      await scene.create('edited', shell("trap 'exit 0' TERM; sleep 3600 & wait"), {
        readinessGates: [{ conditionType: 'example.com/Gate' }],
      });
      const gated = await scene.until('edited', 'running', (pod) =>
        Boolean(pod.status?.containerStatuses?.[0]?.state?.running),
      );
      expect(isReady(gated)).toBe(false);
      const patch = (status: object) =>
        kube.patch('Pod', 'edited', { status }, { namespace, type: 'strategic', subresource: 'status' });
      const gate = { type: 'example.com/Gate', status: 'True', reason: 'Opened' };
      await patch({ conditions: [gate] });
      await scene.ready('edited');
      await patch({ phase: 'Pending', reason: 'Mischief' });
      const righted = await scene.until(
        'edited',
        'set right',
        ({ status }) => status?.phase === 'Running' && status.reason === undefined,
      );
      expect(righted.status?.conditions).toContainEqual(expect.objectContaining(gate));
      expect(isReady(righted)).toBe(true);
    });

    test('a pod that somebody declares Failed is ended, as a kubelet does', async (scene) => {
      const { kube, namespace } = scene;
      await scene.create('condemned');
      const { metadata } = await scene.ready('condemned');
      const status = { phase: 'Failed', reason: 'Condemned' };
      await kube.patch('Pod', 'condemned', { status }, { namespace, type: 'strategic', subresource: 'status' });
      await eventually('its containers to end', async () =>
        (await scene.containersOf(metadata.uid)).every(({ State }) => State !== 'running'),
      );
      const ended = await scene.until(
        'condemned',
        'told',
        (pod) => containerStatus(pod).state?.terminated !== undefined,
      );
      expect(ended.status?.phase).toBe('Failed');
    });
  },
  { needs: ['realContainers'] },
);

async function containerOf(scene: Scene, pod: StoredPod, name = 'main') {
  return await eventually(`a running container ${name} of ${pod.metadata.name}`, async () =>
    (await scene.containersOf(pod.metadata.uid)).find(
      ({ Labels, State }) => Labels['io.kubernetes.container.name'] === name && State === 'running',
    ),
  );
}
