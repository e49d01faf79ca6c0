import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { IMAGES } from '../parts/images.ts';
import { sleep } from '../parts/wait.ts';
import { containerStatus, isReady, restarts, type Scene, shell, UNTIL_TOLD } from '../scene.ts';
import { Kubectl } from '../streaming/kubectl.ts';
import { probesSurvive } from '../probe-survival.ts';

/** As often as can be. */
const OFTEN = { periodSeconds: 1, failureThreshold: 1 };
const FALSE = { exec: { command: ['false'] }, ...OFTEN };
const TRUE = { exec: { command: ['true'] }, ...OFTEN };
/** Makes the fake provider's containers listen. */
const listen = (servers: string) => ({ env: [{ name: 'FAKE_LISTEN', value: servers }] });

matrix(
  'probes',
  ({ test }) => {
    test(
      'readiness by a command: the pod is Ready while the command says so, and is never restarted for it',
      async (scene) => {
        await scene.create('p', { readinessProbe: { exec: { command: ['cat', '/tmp/ready'] }, ...OFTEN } });
        await scene.event('p', /^Warning Unhealthy Readiness probe failed: cat: .*\/tmp\/ready/);
        const unready = await scene.get('p');
        expect(containerStatus(unready)).toMatchObject({ started: true, ready: false });
        expect(unready.status?.conditions).toContainEqual(
          expect.objectContaining({
            type: 'Ready',
            status: 'False',
            reason: 'ContainersNotReady',
            message: 'containers with unready status: [main]',
          }),
        );
        await inContainer(scene, 'p', 'touch /tmp/ready');
        await scene.ready('p');
        await inContainer(scene, 'p', 'rm /tmp/ready');
        await scene.until('p', 'not Ready again', (pod) => !isReady(pod));
        await inContainer(scene, 'p', 'touch /tmp/ready');
        expect(restarts(await scene.ready('p'))).toBe(0);
      },
      { needs: ['realContainers'] },
    );

    test('liveness by HTTP: what does not answer is killed and started again, its neighbour goes on', async (scene) => {
      const ill = { name: 'ill', image: IMAGES.busybox, ...shell(UNTIL_TOLD) };
      const livenessProbe = { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 1, failureThreshold: 2 };
      const well = { name: 'well', image: IMAGES.busybox, ...shell(UNTIL_TOLD) };
      await scene.create('p', {}, { containers: [{ ...ill, livenessProbe }, well] });
      const pod = await scene.until('p', 'restarted', (pod) => restarts(pod, 'ill') >= 1);
      const ip = pod.status?.podIP ?? '';
      await scene.event(
        'p',
        literally(
          `Warning Unhealthy Liveness probe failed: Get "http://${ip}:8080/healthz": dial tcp ${ip}:8080: connect: connection refused (`,
        ),
      );
      await scene.event('p', literally('Normal Killing Container ill failed liveness probe, will be restarted ('));
      expect(containerStatus(pod, 'ill').lastState?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
      expect(restarts(await scene.get('p'), 'well')).toBe(0);
    });

    test(
      'liveness by HTTP: a container that gets well by its restart is restarted once',
      async (scene) => {
        const wellThenIll = 'mkdir /www; touch /www/healthz; httpd -p 8080 -h /www';
        const once = 'if mkdir /state/was-ill; then sleep 2; rm /www/healthz; fi';
        await scene.create(
          'p',
          {
            ...shell(`${wellThenIll}; ${once}; ${UNTIL_TOLD}`),
            ports: [{ name: 'web', containerPort: 8080 }],
            livenessProbe: { httpGet: { path: '/healthz', port: 'web' }, initialDelaySeconds: 1, ...OFTEN },
            volumeMounts: [{ name: 'state', mountPath: '/state' }],
          },
          { volumes: [{ name: 'state', emptyDir: {} }] },
        );
        await scene.until('p', 'restarted', (pod) => restarts(pod) === 1 && isReady(pod));
        await scene.event(
          'p',
          literally('Warning Unhealthy Liveness probe failed: HTTP probe failed with statuscode: 404 ('),
        );
        await sleep(4_000);
        expect(restarts(await scene.get('p'))).toBe(1);
      },
      { needs: ['realContainers'] },
    );

    test('until a container has started, only its startup probe counts', async (scene) => {
      const others = { livenessProbe: FALSE, readinessProbe: TRUE };
      await scene.create('starting', { startupProbe: { ...FALSE, failureThreshold: 100 }, ...others });
      await scene.create('started', { startupProbe: TRUE, readinessProbe: TRUE });
      await scene.create('fails', { startupProbe: { ...FALSE, failureThreshold: 2 }, readinessProbe: TRUE });

      expect(containerStatus(await scene.ready('started'))).toMatchObject({ started: true, ready: true });
      await scene.until('fails', 'restarted', (pod) => restarts(pod) >= 1);
      await scene.event('fails', literally('Normal Killing Container main failed startup probe, will be restarted ('));
      await scene.event('starting', /^Warning Unhealthy Startup probe failed: +\(x[3-9]\)/);
      const starting = await scene.get('starting');
      expect(containerStatus(starting)).toMatchObject({ started: false, ready: false, restartCount: 0 });
      expect(await scene.kube.eventLines('starting', scene.namespace)).not.toContain('Liveness');
    });

    test('TCP and gRPC reach what listens in the pod, and nothing where nothing listens', async (scene) => {
      const hello = { image: IMAGES.hello, command: ['/hello'], ...listen('8080:grpc') };
      const probed = (readinessProbe: object) => ({
        ...hello,
        readinessProbe: { ...readinessProbe, periodSeconds: 1 },
      });
      await scene.create('tcp', probed({ tcpSocket: { port: 8080 } }));
      await scene.create('grpc', probed({ grpc: { port: 8080 } }));
      await scene.create('closed', probed({ tcpSocket: { port: 8081 } }));
      await scene.create('absent', probed({ grpc: { port: 8081 } }));
      await scene.ready('tcp');
      await scene.ready('grpc');
      const { status } = await scene.until('closed', 'running', (pod) => pod.status?.podIP !== undefined);
      const refused = `dial tcp ${status?.podIP}:8081: connect: connection refused`;
      await scene.event('closed', literally(`Warning Unhealthy Readiness probe failed: ${refused} (`));
      await scene.event('absent', /^Warning Unhealthy Readiness probe failed: .*failed to connect service/);
      for (const name of ['closed', 'absent']) expect(isReady(await scene.get(name)), name).toBe(false);
    });

    test('a command that takes too long has failed', async (scene) => {
      await scene.create('p', { readinessProbe: { exec: { command: ['sleep', '10'] }, timeoutSeconds: 1, ...OFTEN } });
      await scene.event(
        'p',
        literally('Warning Unhealthy Readiness probe failed: command timed out: "sleep 10" timed out after 1s ('),
      );
      expect(isReady(await scene.get('p'))).toBe(false);
    });

    test('kill -9: 10 probed pods notice nothing', (scene) => probesSurvive(scene, 10), { needs: ['outlivesProcess'] });
  },
  { needs: ['containerRestarts'] },
);

function literally(start: string): RegExp {
  return new RegExp(`^${start.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}`);
}

async function inContainer(scene: Scene, pod: string, script: string): Promise<void> {
  const { code, stderr } = await new Kubectl(scene, 'W').run(['exec', pod, '--', 'sh', '-c', script]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}
