import { expect } from 'vitest';
import { matrix } from '../matrix.ts';

matrix('admission', ({ test }) => {
  test('a field that is not supported is refused by name, never ignored', async (scene) => {
    await scene.create('hosty', {}, { hostUsers: false });
    const pod = await scene.phase('hosty', 'Failed');
    expect(pod.status).toMatchObject({
      reason: 'ProviderUnsupported',
      message: 'Pod was rejected: spec.hostUsers: false is not supported yet',
    });
    expect(pod.status?.containerStatuses).toBeUndefined();
    expect(pod.status?.startTime).toBeDefined();
    await scene.event('hosty', /^Warning ProviderUnsupported spec\.hostUsers: false is not /);
    await scene.delete('hosty');
    await scene.gone('hosty');
  });

  test('a field of a container is refused by its whole path', async (scene) => {
    await scene.create('labelled', { securityContext: { seLinuxOptions: { level: 's0' } } });
    const pod = await scene.phase('labelled', 'Failed');
    expect(pod.status?.message).toMatch(/^Pod was rejected: spec\.containers\[0\]\.securityContext\.seLinuxOptions: /);
  });

  test('a pod that asks for more than the node has is refused in the kubelet’s words', async (scene) => {
    await scene.create('huge', { resources: { requests: { cpu: '5k' } } });
    const pod = await scene.phase('huge', 'Failed');
    expect(pod.status?.reason).toBe('OutOfcpu');
    const words = "Node didn't have enough resource: cpu, requested: 5000000, used: ";
    expect(pod.status?.message).toMatch(new RegExp(`^Pod was rejected: ${words}\\d+, capacity: \\d+$`));
    await scene.event('huge', new RegExp(`^Warning OutOfcpu ${words}`));
  });

  test('a pod that was bound to the node against its own selector is refused', async (scene) => {
    await scene.create('astray', {}, { nodeSelector: { 'example.com/zone': 'elsewhere' } });
    const pod = await scene.phase('astray', 'Failed');
    expect(pod.status?.reason).toBe('NodeAffinity');
  });

  test('a pod that was refused stays refused and takes no room', async (scene) => {
    const node = await scene.kube.get('Node', scene.node);
    const cpu = node.status?.allocatable?.['cpu'] ?? '';
    await scene.create('refused', { resources: { requests: { cpu: '5k' } } });
    await scene.phase('refused', 'Failed');
    // Nobody else on this node asks for cpu.
    await scene.create('fits', { resources: { requests: { cpu } } });
    await scene.ready('fits');
    expect((await scene.get('refused')).status?.phase).toBe('Failed');
  });
});
