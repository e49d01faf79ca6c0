import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { eventually } from '../scene.ts';
import { jobSpec } from '../templates.ts';

matrix('cron job', ({ test }) => {
  test('a CronJob of every minute has run twice after two minutes', async (scene) => {
    const { kube, namespace } = scene;
    await kube.create({
      kind: 'CronJob',
      metadata: { name: 'minutely', namespace },
      spec: { schedule: '* * * * *', jobTemplate: { spec: jobSpec(scene, 'echo tick') } },
    });
    const jobs = await eventually(
      'two Jobs of the CronJob to be complete',
      async () => {
        const done = (await kube.list('Job', namespace)).filter(({ status }) => status?.succeeded === 1);
        return done.length >= 2 ? done : undefined;
      },
      240_000,
    );
    for (const { metadata } of jobs)
      expect(metadata.ownerReferences?.[0]).toMatchObject({ kind: 'CronJob', name: 'minutely' });
    const [pod] = await scene.pods(`batch.kubernetes.io/job-name=${jobs[0]?.metadata.name}`);
    expect(await scene.logs(pod?.metadata.name ?? '')).toBe('tick\n');
  });
});
