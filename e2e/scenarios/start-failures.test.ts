import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { IMAGES } from '../parts/images.ts';
import { ABSENT_IMAGE, containerStatus, restarts, type StoredPod, shell } from '../scene.ts';

matrix('start failures', ({ test }) => {
  test('a container that takes more memory than it may is OOMKilled', async (scene) => {
    await scene.create(
      'glutton',
      {
        // The container outlives the kill for a moment, see docs/deviations.md.
        ...shell(`sh -c 'a=x; while true; do a=$a$a; done'; sleep 1; exit 137`),
        env: [
          { name: 'FAKE_OOM', value: 'true' },
          { name: 'FAKE_EXIT_AFTER_MS', value: '100' },
        ],
        resources: { limits: { memory: '24Mi' } },
      },
      { restartPolicy: 'Never' },
    );
    const pod = await scene.phase('glutton', 'Failed');
    expect(containerStatus(pod).state?.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  });

  test(
    'a command that does not exist is a StartError with exit code 128',
    async (scene) => {
      const container = { command: ['/no/such/command'], env: [{ name: 'FAKE_START_ERROR', value: 'no such file' }] };
      await scene.create('lost', container, { restartPolicy: 'Never' });
      const pod = await scene.phase('lost', 'Failed');
      expect(containerStatus(pod).state?.terminated).toMatchObject({ exitCode: 128, reason: 'StartError' });
      expect(containerStatus(pod).state?.terminated?.message).toContain('no such file');
      await scene.event('lost', /^Warning Failed Error: .*no such file/);
    },
    { needs: ['containerRestarts'] },
  );

  test(
    'a command that does not exist is a crash loop if it is to restart',
    async (scene) => {
      const container = { command: ['/no/such/command'], env: [{ name: 'FAKE_START_ERROR', value: 'no such file' }] };
      await scene.create('stubborn', container);
      const pod = await scene.until(
        'stubborn',
        'in CrashLoopBackOff',
        (pod) => waiting(pod).reason === 'CrashLoopBackOff',
      );
      expect(containerStatus(pod).lastState?.terminated).toMatchObject({ exitCode: 128, reason: 'StartError' });
      expect(restarts(pod)).toBeGreaterThan(0);
      expect(pod.status?.phase).toBe('Running');
    },
    { needs: ['containerRestarts'] },
  );

  test(
    'an image that cannot be pulled is ErrImagePull, then ImagePullBackOff; the pod waits and can be deleted',
    async (scene) => {
      await scene.create('imageless', { image: ABSENT_IMAGE });
      const seen = new Set<string>();
      const pod = await scene.until('imageless', 'in ImagePullBackOff', (pod) => {
        seen.add(waiting(pod).reason ?? '');
        return waiting(pod).reason === 'ImagePullBackOff';
      });
      expect([...seen]).toContain('ErrImagePull');
      expect(pod.status?.phase).toBe('Pending');
      expect(waiting(pod).message).toContain(`Back-off pulling image "${ABSENT_IMAGE}"`);
      await scene.event('imageless', /^Warning Failed Failed to pull image /);
      await scene.event('imageless', /^Warning Failed Error: ErrImagePull/);
      await scene.event('imageless', /^Normal BackOff Back-off pulling image /);
      await expect(scene.logs('imageless')).rejects.toThrow(
        'container "main" in pod "imageless" is waiting to start: trying and failing to pull image',
      );
      await scene.delete('imageless');
      await scene.gone('imageless');
    },
    { needs: ['imagePulls'] },
  );

  test(
    'an image that is absent and must not be pulled is ErrImageNeverPull',
    async (scene) => {
      await scene.create('never', { image: ABSENT_IMAGE, imagePullPolicy: 'Never' });
      const pod = await scene.until('never', 'told', (pod) => waiting(pod).reason === 'ErrImageNeverPull');
      expect(waiting(pod).message).toBe(`Container image "${ABSENT_IMAGE}" is not present with pull policy of Never`);
      await scene.event('never', /^Warning ErrImageNeverPull Container image /);
    },
    { needs: ['imagePulls'] },
  );

  test(
    'an image whose name cannot be read is InvalidImageName',
    async (scene) => {
      await scene.create('nonsense', { image: 'In Valid:::' });
      const pod = await scene.until('nonsense', 'told', (pod) => waiting(pod).reason === 'InvalidImageName');
      expect(waiting(pod).message).toContain('Failed to apply default image tag "In Valid:::"');
      await scene.event('nonsense', /^Warning InspectFailed Failed to apply default image tag /);
    },
    { needs: ['imagePulls'] },
  );

  test(
    'a container whose image is there does not wait for its neighbour’s',
    async (scene) => {
      await scene.create(
        'half',
        {},
        {
          containers: [
            { name: 'missing', image: ABSENT_IMAGE },
            { name: 'present', image: IMAGES.busybox, ...shell('sleep 3600') },
          ],
        },
      );
      const pod = await scene.until('half', 'half running', ({ status }) =>
        Boolean(status?.containerStatuses?.some(({ name, state }) => name === 'present' && state?.running)),
      );
      expect(pod.status?.phase).toBe('Pending');
    },
    { needs: ['imagePulls'] },
  );
});

function waiting({ status }: StoredPod): { reason?: string; message?: string } {
  return status?.containerStatuses?.[0]?.state?.waiting ?? {};
}
