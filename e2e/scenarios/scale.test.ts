import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { leftOnEngine } from '../parts/docker-cleanup.ts';
import { eventually, PATIENCE_MS } from '../scene.ts';
import { podTemplate } from '../templates.ts';

const REPLICAS = 30;

matrix(
  'scale',
  ({ test }) => {
    test(
      `a ReplicaSet of ${REPLICAS} is scaled up and to zero: the engine holds nothing of it, and nothing at all when the node ends`,
      async (scene) => {
        const node = scene.on(await scene.startNode('own'));
        const { kube, namespace, docker } = scene;
        const template = podTemplate(node, 'many');
        await kube.create({
          kind: 'ReplicaSet',
          metadata: { name: 'many', namespace },
          spec: {
            replicas: 0,
            selector: { matchLabels: { app: 'many' } },
            template: {
              ...template,
              spec: {
                ...template.spec,
                volumes: [
                  { name: 'disk', emptyDir: {} },
                  { name: 'memory', emptyDir: { medium: 'Memory' } },
                ],
                containers: template.spec.containers.map((container) => ({
                  ...container,
                  volumeMounts: [
                    { name: 'disk', mountPath: '/disk' },
                    { name: 'memory', mountPath: '/memory' },
                  ],
                })),
              },
            },
          },
        });
        const scaleTo = (replicas: number) => kube.patch('ReplicaSet', 'many', { spec: { replicas } }, { namespace });
        await scaleTo(REPLICAS);
        await kube.waitFor('ReplicaSet', 'many', 'all Ready', ({ status }) => status?.readyReplicas === REPLICAS, {
          namespace,
          timeoutMs: 2 * PATIENCE_MS,
        });
        const pods = await scene.pods('app=many');
        expect(new Set(pods.map(({ status }) => status?.podIP)).size).toBe(REPLICAS);
        expect(
          pods.flatMap(({ status }) => status?.containerStatuses?.map(({ restartCount }) => restartCount)),
        ).toEqual(pods.map(() => 0));
        await scaleTo(0);
        await eventually(
          'all pods to be gone',
          async () => (await scene.pods('app=many')).length === 0,
          2 * PATIENCE_MS,
        );
        const left = await eventually('containers and volumes to be gone', async () => {
          const lines = await leftOnEngine(docker, [node.node]);
          return lines.some((line) => !line.startsWith('network ')) ? undefined : lines;
        });
        expect(left).toHaveLength(1);
        await node.outrigger.stop();
        expect(await leftOnEngine(docker, [node.node])).toEqual([]);
      },
      { timeoutMs: 6 * PATIENCE_MS },
    );
  },
  { needs: ['realContainers', 'outlivesProcess'] },
);
