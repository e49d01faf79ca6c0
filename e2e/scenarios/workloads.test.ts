import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { eventually, isReady, PATIENCE_MS, type Scene, type StoredPod } from '../scene.ts';
import { jobSpec, podTemplate } from '../templates.ts';

matrix('workloads', ({ test }) => {
  test('a ReplicaSet gets its pods, a new one for each that is deleted, and loses them all with itself', async (scene) => {
    await scene.kube.create({
      kind: 'ReplicaSet',
      metadata: { name: 'set', namespace: scene.namespace },
      spec: { replicas: 2, selector: { matchLabels: { app: 'set' } }, template: podTemplate(scene, 'set') },
    });
    const [first, second] = await readyPods(scene, 'app=set', 2);
    expect(new Set([first?.status?.podIP, second?.status?.podIP]).size).toBe(2);
    const deleted = first?.metadata.name ?? '';
    await scene.delete(deleted);
    await scene.gone(deleted);
    const after = await readyPods(scene, 'app=set', 2);
    expect(after.map(({ metadata }) => metadata.name)).not.toContain(deleted);
    await scene.kube.delete('ReplicaSet', 'set', { namespace: scene.namespace });
    await eventually('the pods of the set to be gone', async () => (await scene.pods('app=set')).length === 0);
  });

  test('a Deployment rolls out, and after `rollout restart` all its pods are new', async (scene) => {
    const { kube, namespace } = scene;
    await kube.create({
      kind: 'Deployment',
      metadata: { name: 'web', namespace },
      spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template: podTemplate(scene, 'web') },
    });
    const old = await rolledOut(scene, 'web');
    // What kubectl rollout restart does.
    const annotations = { 'kubectl.kubernetes.io/restartedAt': new Date().toISOString() };
    await kube.patch('Deployment', 'web', { spec: { template: { metadata: { annotations } } } }, { namespace });
    const fresh = await rolledOut(scene, 'web');
    const names = old.map(({ metadata }) => metadata.name);
    expect(fresh.filter(({ metadata }) => names.includes(metadata.name))).toEqual([]);
    expect(fresh).toHaveLength(2);
  });

  test('a Job completes', async (scene) => {
    const { kube, namespace } = scene;
    await kube.create({
      kind: 'Job',
      metadata: { name: 'sum', namespace },
      spec: { ...jobSpec(scene, 'echo 4'), completions: 2, parallelism: 2 },
    });
    const job = await kube.waitFor('Job', 'sum', 'complete', ({ status }) => condition(status, 'Complete'), {
      namespace,
      timeoutMs: PATIENCE_MS,
    });
    expect(job.status).toMatchObject({ succeeded: 2 });
    const [pod] = await scene.pods('batch.kubernetes.io/job-name=sum');
    expect(await scene.logs(pod?.metadata.name ?? '')).toBe('4\n');
  });

  test('a Job gives up when its pods have failed more often than its backoffLimit', async (scene) => {
    const { kube, namespace } = scene;
    await kube.create({
      kind: 'Job',
      metadata: { name: 'hopeless', namespace },
      spec: { ...jobSpec(scene, 'exit 7'), backoffLimit: 1 },
    });
    const job = await kube.waitFor('Job', 'hopeless', 'failed', ({ status }) => condition(status, 'Failed'), {
      namespace,
      timeoutMs: PATIENCE_MS,
    });
    expect(job.status?.failed).toBe(2);
    expect(job.status?.conditions?.find(({ type }) => type === 'Failed')?.reason).toBe('BackoffLimitExceeded');
    for (const pod of await scene.pods('batch.kubernetes.io/job-name=hopeless')) {
      expect(pod.status?.phase).toBe('Failed');
      expect(pod.status?.containerStatuses?.[0]?.state?.terminated?.exitCode).toBe(7);
    }
  });

  test('a Job made from a CronJob, as `kubectl create job --from` does, runs and belongs to it', async (scene) => {
    const { kube, namespace } = scene;
    const cron = await kube.create({
      kind: 'CronJob',
      metadata: { name: 'nightly', namespace },
      spec: { schedule: '0 3 * * *', jobTemplate: { spec: jobSpec(scene, 'echo night') } },
    });
    const owner = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      name: 'nightly',
      uid: cron.metadata.uid,
      controller: true,
    };
    const { spec } = cron.spec?.jobTemplate ?? {};
    await kube.create({
      kind: 'Job',
      metadata: { name: 'by-hand', namespace, ownerReferences: [owner] },
      ...(spec === undefined ? {} : { spec }),
    });
    await kube.waitFor('Job', 'by-hand', 'complete', ({ status }) => condition(status, 'Complete'), {
      namespace,
      timeoutMs: PATIENCE_MS,
    });
  });

  test('a DaemonSet comes to the node if it tolerates the taint, and not otherwise', async (scene) => {
    const { kube, namespace } = scene;
    for (const name of ['tolerant', 'plain']) {
      const template = podTemplate(scene, name);
      if (name === 'plain') delete template.spec.tolerations;
      await kube.create({
        kind: 'DaemonSet',
        metadata: { name, namespace },
        spec: { selector: { matchLabels: { app: name } }, template },
      });
    }
    const tolerant = await kube.waitFor('DaemonSet', 'tolerant', 'ready', ({ status }) => status?.numberReady === 1, {
      namespace,
      timeoutMs: PATIENCE_MS,
    });
    expect(tolerant.status?.desiredNumberScheduled).toBe(1);
    const plain = await kube.waitFor(
      'DaemonSet',
      'plain',
      'looked at',
      ({ status }) => status?.observedGeneration === 1,
      { namespace, timeoutMs: PATIENCE_MS },
    );
    expect(plain.status?.desiredNumberScheduled).toBe(0);
    const [pod] = await scene.pods('app=tolerant');
    expect(pod?.spec?.nodeName).toBe(scene.node);
  });
});

function condition(status: { conditions?: { type: string; status: string }[] } | undefined, wanted: string): boolean {
  return status?.conditions?.some(({ type, status }) => type === wanted && status === 'True') ?? false;
}

function readyPods(scene: Scene, selector: string, count: number): Promise<StoredPod[]> {
  return eventually(`${count} pods with ${selector} to be Ready and no other`, async () => {
    const pods = await scene.pods(selector);
    return pods.length === count && pods.every((pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined)
      ? pods
      : undefined;
  });
}

async function rolledOut(scene: Scene, name: string): Promise<StoredPod[]> {
  await scene.kube.waitFor(
    'Deployment',
    name,
    'rolled out',
    ({ metadata, spec, status }) =>
      status?.observedGeneration === metadata.generation &&
      status?.updatedReplicas === spec?.replicas &&
      status?.availableReplicas === spec?.replicas &&
      status?.replicas === spec?.replicas,
    { namespace: scene.namespace, timeoutMs: PATIENCE_MS },
  );
  return await readyPods(scene, `app=${name}`, 2);
}
