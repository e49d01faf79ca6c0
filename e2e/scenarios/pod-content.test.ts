import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { IMAGES } from '../parts/images.ts';
import { eventually, type Scene, shell } from '../scene.ts';

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

// What programs find around them, told by the programs themselves.
matrix(
  'pod content',
  ({ test }) => {
    test('the service account’s token, authority and namespace can be read, on tmpfs', async (scene) => {
      const script = `cat ${ACCOUNT}/namespace; echo; cat ${ACCOUNT}/token; echo; cat ${ACCOUNT}/ca.crt; echo; grep ' ${ACCOUNT} ' /proc/mounts`;
      const pod = await scene.create('account', shell(script), { restartPolicy: 'Never' });
      await scene.phase('account', 'Succeeded');
      const log = await scene.logs('account');
      const [namespace, token = ''] = log.split('\n');
      expect(namespace).toBe(scene.namespace);
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims; // a JWT of the API server
      expect(claims.sub).toBe(`system:serviceaccount:${scene.namespace}:default`);
      expect(claims['kubernetes.io'].pod).toEqual({ name: 'account', uid: pod.metadata.uid });
      expect(claims['kubernetes.io'].node?.name).toBe(scene.node);
      const pem = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/s.exec(log)?.[0];
      const root = await scene.kube.get('ConfigMap', 'kube-root-ca.crt', scene.namespace);
      expect(pem).toBe(root.data?.['ca.crt']?.trim());
      expect(log).toMatch(new RegExp(`^\\S+ ${ACCOUNT} tmpfs ro,`, 'm'));
    });

    test('the API server takes the token for what it says', async (scene) => {
      await scene.create('whoami', shell(`cat ${ACCOUNT}/token`), { restartPolicy: 'Never' });
      await scene.phase('whoami', 'Succeeded');
      const answer = await scene.kube.http.text({
        method: 'POST',
        path: '/apis/authentication.k8s.io/v1/tokenreviews',
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token: await scene.logs('whoami') },
        },
      });
      const { status } = JSON.parse(answer) as { status: object }; // the API's TokenReview
      expect(status).toMatchObject({
        authenticated: true,
        user: { username: `system:serviceaccount:${scene.namespace}:default` },
      });
    });

    test('env tells fields of the pod, its addresses, literals and references between them', async (scene) => {
      const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } });
      await scene.create('fields', {
        ...shell('env; sleep 3600'),
        env: [
          field('POD_NAME', 'metadata.name'),
          field('POD_NAMESPACE', 'metadata.namespace'),
          field('POD_UID', 'metadata.uid'),
          field('NODE_NAME', 'spec.nodeName'),
          field('ACCOUNT', 'spec.serviceAccountName'),
          field('POD_IP', 'status.podIP'),
          field('HOST_IP', 'status.hostIP'),
          { name: 'LITERAL', value: 'a value' },
          { name: 'BOTH', value: '$(LITERAL) of $(POD_NAME), not $$(LITERAL) or $(NONE)' },
        ],
        args: [],
      });
      const pod = await scene.ready('fields');
      const env = await environment(scene, 'fields');
      expect(env).toMatchObject({
        POD_NAME: 'fields',
        POD_NAMESPACE: scene.namespace,
        POD_UID: pod.metadata.uid,
        NODE_NAME: scene.node,
        ACCOUNT: 'default',
        POD_IP: pod.status?.podIP,
        HOST_IP: pod.status?.hostIP,
        LITERAL: 'a value',
        BOTH: 'a value of fields, not $(LITERAL) or $(NONE)',
        HOSTNAME: 'fields',
      });
      expect(env['POD_IP']).not.toBe(env['HOST_IP']);
    });

    test('services that were there before the pod are in its env, and the API server always', async (scene) => {
      const { kube, namespace } = scene;
      const service = await kube.create({
        kind: 'Service',
        metadata: { name: 'data-base', namespace },
        spec: { selector: { app: 'none' }, ports: [{ name: 'sql', port: 5432 }] },
      });
      const ip = service.spec?.clusterIP;
      // A pod does not wait for a service that was made a moment before it, neither here nor on a kubelet.
      const env = await eventually('a pod that sees the service', async () => {
        await kube.delete('Pod', 'linked', { namespace, graceSeconds: 0 });
        await scene.create('linked', shell('env; sleep 3600'));
        await scene.ready('linked');
        const seen = await environment(scene, 'linked');
        return seen['DATA_BASE_SERVICE_HOST'] === undefined ? undefined : seen;
      });
      expect(env).toMatchObject({
        DATA_BASE_SERVICE_HOST: ip,
        DATA_BASE_SERVICE_PORT: '5432',
        DATA_BASE_SERVICE_PORT_SQL: '5432',
        DATA_BASE_PORT: `tcp://${ip}:5432`,
        DATA_BASE_PORT_5432_TCP_ADDR: ip,
        KUBERNETES_SERVICE_HOST: '10.96.0.1',
        KUBERNETES_SERVICE_PORT: '443',
      });
    });

    test('an emptyDir is one folder for all containers of the pod', async (scene) => {
      const mount = { volumeMounts: [{ name: 'shared', mountPath: '/shared' }] };
      await scene.create(
        'sharing',
        {},
        {
          restartPolicy: 'Never',
          volumes: [{ name: 'shared', emptyDir: {} }],
          containers: [
            {
              name: 'writer',
              image: IMAGES.busybox,
              ...shell('echo hello > /shared/x; mv /shared/x /shared/file'),
              ...mount,
            },
            {
              name: 'reader',
              image: IMAGES.busybox,
              ...shell('until [ -e /shared/file ]; do sleep 0.2; done; cat /shared/file; ls -ld /shared'),
              ...mount,
            },
          ],
        },
      );
      await scene.phase('sharing', 'Succeeded');
      expect(await scene.logs('sharing', { container: 'reader' })).toMatch(/^hello\ndrwxrwxrwx /);
    });

    test('an emptyDir outlives its container, not its pod', async (scene) => {
      const container = {
        ...shell(
          'cat /shared/lives 2>/dev/null; echo life >> /shared/lives; [ $(wc -l < /shared/lives) -gt 1 ] && sleep 3600; exit 1',
        ),
        volumeMounts: [{ name: 'shared', mountPath: '/shared' }],
      };
      const spec = { volumes: [{ name: 'shared', emptyDir: {} }] };
      await scene.create('keeper', container, spec);
      await eventually('the second life to see the first', async () => (await scene.logs('keeper')) === 'life\n');
      await scene.delete('keeper');
      await scene.gone('keeper');
      await scene.create('keeper', { ...container, ...shell('ls /shared; echo listed; sleep 3600') }, spec);
      await scene.ready('keeper');
      await eventually('the new pod to look', async () => (await scene.logs('keeper')).includes('listed'));
      expect(await scene.logs('keeper')).toBe('listed\n');
    });

    test('an emptyDir with medium Memory is a tmpfs of its size', async (scene) => {
      await scene.create(
        'memory',
        { ...shell("grep ' /mem ' /proc/mounts"), volumeMounts: [{ name: 'mem', mountPath: '/mem' }] },
        { restartPolicy: 'Never', volumes: [{ name: 'mem', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } }] },
      );
      await scene.phase('memory', 'Succeeded');
      expect(await scene.logs('memory')).toMatch(/^tmpfs \/mem tmpfs rw,.*size=8192k/);
    });

    test('containers of one pod meet on localhost, pods of one node by their addresses', async (scene) => {
      await scene.create(
        'server',
        {},
        {
          containers: [
            {
              name: 'main',
              image: IMAGES.hello,
              env: [{ name: 'POD_NAME', value: 'server' }],
              ports: [{ containerPort: 8080 }],
            },
            {
              name: 'neighbour',
              image: IMAGES.busybox,
              ...shell('until wget -q -O - localhost:8080; do sleep 0.5; done; sleep 3600'),
            },
          ],
        },
      );
      const server = await scene.ready('server');
      const url = `${server.status?.podIP}:8080`;
      await scene.create('client', shell(`until wget -q -O - ${url}; do sleep 0.5; done`), {
        restartPolicy: 'Never',
      });
      await scene.phase('client', 'Succeeded');
      expect(await scene.logs('client')).toMatch(/^Hello from pod server on node /);
      await eventually('the neighbour to be answered', async () =>
        (await scene.logs('server', { container: 'neighbour' })).startsWith('Hello from pod server'),
      );
    });

    test('resources become limits of the container', async (scene) => {
      await scene.create(
        'limited',
        {
          ...shell('cat /sys/fs/cgroup/memory.max 2>/dev/null || cat /sys/fs/cgroup/memory/memory.limit_in_bytes'),
          resources: { limits: { memory: '64Mi', cpu: '500m' } },
        },
        { restartPolicy: 'Never' },
      );
      const pod = await scene.phase('limited', 'Succeeded');
      expect(await scene.logs('limited')).toBe(`${64 * 2 ** 20}\n`);
      expect(pod.status?.qosClass).toBe('Guaranteed');
    });
  },
  { needs: ['realContainers'] },
);

interface Claims {
  readonly sub: string;
  readonly 'kubernetes.io': { readonly pod: object; readonly node?: { readonly name: string } };
}

/** What `env` printed. */
async function environment(scene: Scene, name: string): Promise<Record<string, string>> {
  const log = await eventually('the environment', async () => {
    const text = await scene.logs(name);
    return text.includes('PATH=') ? text : undefined;
  });
  return Object.fromEntries(log.split('\n').map((line) => line.split(/=(.*)/s, 2) as [string, string])); // NAME=VALUE
}
