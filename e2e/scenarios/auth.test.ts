import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { askKubelet } from '../parts/kubelet-http.ts';
import type { Outrigger } from '../parts/outrigger.ts';
import { REPOSITORY } from '../parts/paths.ts';
import { requestToken } from '../parts/rbac.ts';
import { TestBed } from '../parts/test-bed.ts';

/** One of each kind. */
const PATHS = [
  '/healthz',
  '/pods',
  '/runningpods/',
  '/configz',
  '/metrics',
  '/metrics/resource',
  '/stats/summary',
  '/logs/',
  '/containerLogs/ns/p/c',
  '/exec/ns/p/c?output=1&command=id',
  '/debug/pprof/',
  '/nothing',
];
const UPGRADE = { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };

// No matter of the provider: the fastest one serves.
describe('who is let in at the kubelet API', () => {
  let bed: TestBed;
  let namespace: string;
  let outrigger: Outrigger;
  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
    namespace = await bed.kube.createNamespace();
    outrigger = await bed.startNode(bed.nodeName('auth'), { provider: 'fake' });
  });
  afterAll(async () => {
    await bed.kube.delete('Namespace', namespace);
    await bed.close();
  });

  /** A token of a new ServiceAccount that may do this with `nodes/<subresource>`. */
  async function account(name: string, resources: readonly string[], verbs: readonly string[]): Promise<string> {
    const { kube } = bed;
    const role = bed.nodeName(`auth-${name}`);
    await kube.apply({ kind: 'ServiceAccount', metadata: { name, namespace } });
    await kube.apply({
      kind: 'ClusterRole',
      metadata: { name: role },
      rules: [{ apiGroups: [''], resources: [...resources], verbs: [...verbs] }],
    });
    await kube.apply({
      kind: 'ClusterRoleBinding',
      metadata: { name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    });
    return await requestToken(kube, name, namespace);
  }

  /** Which of the paths answer something else than a refusal. */
  async function open(node: Outrigger, call: Parameters<typeof askKubelet>[2]): Promise<string[]> {
    const answers = await Promise.all(
      PATHS.map(async (path) => ({ path, code: (await askKubelet(node, path, call)).code })),
    );
    return answers.filter(({ code }) => ![401, 403, 500].includes(code)).map(({ path }) => path);
  }

  it('nobody without credentials, or with a token that is none: 401', async () => {
    for (const call of [{}, { token: 'nonsense' }, { headers: { authorization: 'Basic YTpi' } }]) {
      for (const path of PATHS)
        expect(await askKubelet(outrigger, path, call)).toEqual({ code: 401, body: 'Unauthorized' });
    }
    const exec = await askKubelet(outrigger, '/exec/ns/p/c?output=1', { method: 'POST', headers: UPGRADE });
    expect(exec.code).toBe(401);
  });

  it('a ServiceAccount without rights is known, and may nothing: 403', async () => {
    const token = await requestToken(bed.kube, 'default', namespace);
    const user = `system:serviceaccount:${namespace}:default`;
    expect(await askKubelet(outrigger, '/pods', { token })).toEqual({
      code: 403,
      body: `Forbidden (user=${user}, verb=get, resource=nodes, subresource(s)=[pods proxy])\n`,
    });
    expect(await open(outrigger, { token })).toEqual([]);
    const exec = await askKubelet(outrigger, '/exec/ns/p/c?output=1', { token, method: 'POST', headers: UPGRADE });
    expect(exec).toEqual({
      code: 403,
      body: `Forbidden (user=${user}, verb=create, resource=nodes, subresource(s)=[proxy])\n`,
    });
  });

  it('with rights on nodes/metrics it is metrics that one gets, and no exec', async () => {
    const token = await account('metrics', ['nodes/metrics'], ['get']);
    expect(await open(outrigger, { token })).toEqual(['/metrics', '/metrics/resource']);
    const exec = await askKubelet(outrigger, '/exec/ns/p/c?output=1', { token, method: 'POST', headers: UPGRADE });
    expect(exec.code).toBe(403);
  });

  it('rights come in fine grains: pods and configz without the power of proxy', async () => {
    const token = await account('fine', ['nodes/pods', 'nodes/configz', 'nodes/healthz'], ['get']);
    expect(await open(outrigger, { token })).toEqual(['/healthz', '/pods', '/runningpods/', '/configz']);
  });

  it('/configz tells the configuration of the node through the API server', async () => {
    const text = await bed.kube.http.text({
      method: 'GET',
      path: `/api/v1/nodes/${outrigger.nodeName}/proxy/configz`,
    });
    expect(JSON.parse(text)).toMatchObject({
      kubeletconfig: {
        kind: 'KubeletConfiguration',
        port: outrigger.port,
        authentication: { anonymous: { enabled: false }, webhook: { enabled: true } },
        authorization: { mode: 'Webhook' },
      },
    });
  });

  it('a node that may not ask the API server about others lets nobody in', async () => {
    const { plane, kube } = bed;
    const except = ['tokenreviews', 'subjectaccessreviews'];
    const kubeconfig = await plane.serviceAccountKubeconfig('blind', namespace, { except });
    const blind = await bed.startNode(bed.nodeName('auth-blind'), { provider: 'fake', kubeconfig });
    const admin = { certificate: plane.kubeletClient };
    expect(await open(outrigger, admin)).toContain('/pods');
    expect(await open(blind, admin)).toEqual([]);
    expect(await askKubelet(blind, '/pods', admin)).toEqual({
      code: 500,
      body: expect.stringMatching(/^Authorization error \(user=.*, verb=get, resource=nodes, subresource=pods\)$/),
    });
    const known = await requestToken(kube, 'default', namespace);
    expect(await askKubelet(blind, '/pods', { token: known })).toEqual({ code: 401, body: 'Unauthorized' });
    expect(await askKubelet(blind, '/pods')).toEqual({ code: 401, body: 'Unauthorized' });
  });

  it('a process that would let everybody in does not start', () => {
    const { status, stderr } = spawnSync(
      process.execPath,
      [
        join(REPOSITORY, 'src/main.ts'),
        '--anonymous-auth',
        '--authorization-mode=AlwaysAllow',
        '--self-signed-serving-certificate',
      ],
      { encoding: 'utf8', cwd: REPOSITORY, timeout: 20_000 },
    );
    expect(status).toBe(2);
    expect(stderr).toMatch(/^outrigger: authorization\.mode .*--allow-open-kubelet-api if that is meant\n$/);
  });
});
