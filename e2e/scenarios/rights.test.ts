import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { kubeletConfig } from '../config.ts';
import { expectCleanNode, inNamespace, SIMULATED } from '../matrix.ts';
import { AuditLog } from '../parts/audit.ts';
import { type ControlPlane, startControlPlane } from '../parts/control-plane.ts';
import { askKubelet } from '../parts/kubelet-http.ts';
import { GRANTS, requestToken } from '../parts/rbac.ts';
import { approve, isPending, SERVING_SIGNER, signingRequests } from '../parts/signing.ts';
import { TestBed } from '../parts/test-bed.ts';
import { eventually, PATIENCE_MS, restarts, type Scene, shell, UNTIL_TOLD } from '../scene.ts';

// On a control plane that writes down what it is asked by the ServiceAccount. No matter of the provider: the fastest one serves.
describe('under a ServiceAccount', () => {
  let bed: TestBed;
  let plane: ControlPlane;
  let audit: AuditLog;
  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
    audit = new AuditLog(bed.folder('audit'), 'system:serviceaccount:kube-system:outrigger');
    plane = await startControlPlane({ dir: bed.folder('audited-plane'), flags: { apiserver: audit.flags } });
  });
  afterAll(async () => {
    await bed.close();
    await plane?.stop();
  });

  it('nothing is refused in the life of pods and of the Node, and every right is used', async () => {
    // What happens rarely comes at once.
    const config = kubeletConfig({ bed }, 'rights', {
      crashLoopBackOff: { maxContainerRestartPeriod: '2s' },
      nodeStatusUpdateFrequency: '1s',
      nodeStatusReportFrequency: '1s',
      nodeLeaseDurationSeconds: 4,
    });
    const outrigger = await bed.startNode('rights', {
      plane,
      provider: 'fake',
      identity: 'service-account',
      serving: 'requested',
      args: [`--config=${config}`],
    });
    const kube = await plane.kube();
    const request = await eventually('a request for a serving certificate', async () =>
      (await signingRequests(kube, SERVING_SIGNER)).find(isPending),
    );
    await approve(kube, request);
    await inNamespace({ bed, outrigger, kube, backend: SIMULATED }, async (scene) => {
      await liveOnce(scene);
      await registerAgain(scene);
    });
    await expectCleanNode(bed, outrigger, kube);
    kube.close();

    const used = () => [...new Set(audit.read().map(({ verb, resource }) => `${verb} ${resource}`))].sort();
    await eventually(
      'as many kinds of requests as there are rights',
      () => used().length >= GRANTS.length,
      20_000,
    ).catch(
      () => undefined, // the comparison tells more
    );
    expect(used()).toEqual(GRANTS);
    expect(audit.read().filter(({ allowed }) => !allowed)).toEqual([]);
  });
});

/** A pod with a token, a pull secret, logs; one whose events repeat. */
async function liveOnce(scene: Scene): Promise<void> {
  const { kube, namespace } = scene;
  const stringData = { '.dockerconfigjson': '{"auths":{}}' };
  await kube.create({
    kind: 'Secret',
    metadata: { name: 'pull', namespace },
    type: 'kubernetes.io/dockerconfigjson',
    stringData,
  });
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: await claim(scene) } }];
  await scene.create(
    'lives',
    { ...shell(`echo here; ${UNTIL_TOLD}`), volumeMounts: [{ name: 'data', mountPath: '/data' }] },
    { imagePullSecrets: [{ name: 'pull' }], volumes },
  );
  await scene.create('fails', shell('exit 1'));
  await scene.ready('lives');
  // The serving certificate is signed a moment after its approval.
  expect(await eventually('logs', () => scene.logs('lives').catch(() => undefined))).toBe('here\n');
  // Anybody may have a token, and it takes a right of the node's to ask whose it is.
  const token = await requestToken(kube, 'default', namespace);
  expect(await askKubelet(scene.outrigger, '/healthz', { token })).toMatchObject({ code: 403 });
  await scene.until('fails', 'restarted twice', (pod) => restarts(pod) >= 2);
  await scene.event('fails', /Started .*\(x[2-9]\)/);
  for (const name of ['lives', 'fails']) await scene.delete(name);
  for (const name of ['lives', 'fails']) await scene.gone(name);
}

/** A claim on a path of the host, that the controller has bound. */
async function claim({ kube, namespace }: Scene): Promise<string> {
  const shared = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  const storage = '1Mi';
  await kube.create({
    kind: 'PersistentVolume',
    metadata: { name: namespace },
    spec: { ...shared, capacity: { storage }, hostPath: { path: '/tmp' }, claimRef: { namespace, name: 'data' } },
  });
  await kube.create({
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace },
    spec: { ...shared, resources: { requests: { storage } }, volumeName: namespace },
  });
  await kube.waitFor('PersistentVolumeClaim', 'data', 'bound', ({ status }) => status?.phase === 'Bound', {
    namespace,
  });
  return 'data';
}

async function registerAgain({ kube, node }: Scene): Promise<void> {
  const before = await kube.get('Node', node);
  await kube.delete('Node', node);
  await kube.waitFor('Node', node, 'registered again', ({ metadata }) => metadata.uid !== before.metadata.uid, {
    timeoutMs: PATIENCE_MS,
  });
}
