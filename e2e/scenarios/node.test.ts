import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { expect } from 'vitest';
import { kubeletConfig } from '../config.ts';
import { matrix } from '../matrix.ts';
import { isTrue } from '../parts/kube.ts';
import { readText } from '../parts/kube-http.ts';
import { eventually, PATIENCE_MS, shell, UNTIL_TOLD } from '../scene.ts';

matrix('node', ({ test }) => {
  test('registers with labels, taint, addresses, conditions and what the machine has', async (scene) => {
    const { kube, node, outrigger, docker } = scene;
    const { metadata, spec, status } = await kube.get('Node', node);
    expect(metadata.labels).toMatchObject({
      'kubernetes.io/hostname': node,
      'kubernetes.io/os': 'linux',
      type: 'virtual-kubelet',
      'node.kubernetes.io/exclude-from-external-load-balancers': '',
    });
    const value = scene.provider;
    expect(spec?.taints).toContainEqual({ key: 'virtual-kubelet.io/provider', value, effect: 'NoSchedule' });
    expect(status?.addresses).toContainEqual({ type: 'Hostname', address: node });
    expect(status?.addresses?.find(({ type }) => type === 'InternalIP')?.address).toMatch(/^\d+\./);
    expect(Object.fromEntries((status?.conditions ?? []).map(({ type, status }) => [type, status]))).toMatchObject({
      Ready: 'True',
      MemoryPressure: 'False',
      DiskPressure: 'False',
      PIDPressure: 'False',
    });
    expect(status?.nodeInfo?.kubeletVersion).toMatch(/^v1\.\d+\.\d+-outrigger-/);
    expect(status?.daemonEndpoints?.kubeletEndpoint?.Port).toBe(outrigger.port);
    expect(Number(status?.allocatable?.['pods'])).toBeGreaterThan(0);
    if (!scene.offers('realContainers')) return;
    const { NCPU, MemTotal } = await docker.info();
    expect(status?.capacity?.['cpu']).toBe(String(NCPU));
    expect(status?.capacity?.['memory']).toBe(`${Math.floor(MemTotal / 1024)}Ki`);
    expect(status?.nodeInfo?.containerRuntimeVersion).toMatch(/^docker:\/\/\d+/);
  });

  test('renews its Lease', async ({ kube, node }) => {
    const first = await kube.get('Lease', node, 'kube-node-lease');
    expect(first.spec).toMatchObject({ holderIdentity: node, leaseDurationSeconds: 40 });
    expect(first.metadata.ownerReferences?.[0]).toMatchObject({ kind: 'Node', name: node });
    await kube.waitFor('Lease', node, 'renewed', ({ spec }) => spec?.renewTime !== first.spec?.renewTime, {
      namespace: 'kube-node-lease',
      timeoutMs: PATIENCE_MS,
    });
  });

  test('leaves conditions, labels and annotations of others alone when it writes its own', async (scene) => {
    const { kube } = scene;
    const config = kubeletConfig(scene, `${scene.node}-eager`, {
      nodeStatusUpdateFrequency: '1s',
      nodeStatusReportFrequency: '1s',
    });
    const { nodeName: name } = await scene.startNode('eager', { args: [`--config=${config}`] });
    const condition = {
      type: 'example.com/Weather',
      status: 'True',
      reason: 'Sunny',
      message: 'no clouds',
      lastHeartbeatTime: '2026-01-01T00:00:00Z',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await kube.patch('Node', name, { metadata: { labels: { 'example.com/zone': 'a' } } });
    const patch = { status: { conditions: [condition] } };
    const patched = await kube.patch('Node', name, patch, { type: 'strategic', subresource: 'status' });
    const heartbeat = (node: typeof patched) =>
      node.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime ?? '';
    const later = await kube.waitFor('Node', name, 'reported anew', (node) => heartbeat(node) > heartbeat(patched), {
      timeoutMs: PATIENCE_MS,
    });
    expect(later.status?.conditions).toContainEqual(condition);
    expect(later.metadata.labels?.['example.com/zone']).toBe('a');
  });

  test('is registered again when somebody deletes its Node', async (scene) => {
    const { kube } = scene;
    const { nodeName: name } = await scene.startNode('deleted');
    const before = await kube.get('Node', name);
    await kube.delete('Node', name);
    const after = await eventually(`another Node ${name}`, async () => {
      const found = await kube.find('Node', name);
      return found !== undefined &&
        found.metadata.uid !== before.metadata.uid &&
        isTrue(found.status?.conditions, 'Ready')
        ? found
        : undefined;
    });
    expect(after.spec?.taints?.some(({ key }) => key === 'virtual-kubelet.io/provider')).toBe(true);
    expect(after.metadata.labels?.['type']).toBe('virtual-kubelet');
    await eventually('a Lease of the new Node', async () => {
      const lease = await kube.find('Lease', name, 'kube-node-lease');
      return lease?.metadata.ownerReferences?.[0]?.uid === after.metadata.uid;
    });
  });

  test('its server answers 401 to who shows no certificate of its authority, and the pods to the API server', async (scene) => {
    await scene.create('listed');
    const pod = await scene.ready('listed');
    const { port } = scene.outrigger;
    const host = (await scene.kube.get('Node', scene.node)).status?.addresses?.find(
      ({ type }) => type === 'InternalIP',
    )?.address;
    const { certFile, keyFile, caFile } = scene.bed.plane.kubeletClient;
    const [cert, key, ca] = await Promise.all([readFile(certFile), readFile(keyFile), readFile(caFile)]);
    const target = { host: host ?? '', port, path: '/pods', ca };
    expect(await ask(target)).toEqual({ code: 401, body: 'Unauthorized' });
    const answer = await ask({ ...target, cert, key });
    expect(answer.code).toBe(200);
    const { items } = JSON.parse(answer.body) as { items: { metadata: { uid: string } }[] }; // a PodList
    expect(items.map(({ metadata }) => metadata.uid)).toContain(pod.metadata.uid);
  });

  test('serves logs under a certificate of its own making only to who does not check it', async (scene) => {
    const sibling = scene.on(
      await scene.startNode('selfmade', {
        args: ['--tls-cert-file=', '--tls-private-key-file=', '--self-signed-serving-certificate'],
      }),
    );
    await sibling.create('doubted', shell('echo hello'));
    await scene.until('doubted', 'told about', ({ status }) => status?.containerStatuses !== undefined);
    await expect(scene.logs('doubted')).rejects.toThrow('x509: certificate signed by unknown authority');
  });

  test('works under the rights of a ServiceAccount as well as under a node’s own', async (scene) => {
    const sibling = scene.on(await scene.startNode('account', { identity: 'service-account' }));
    await sibling.create('served', shell(`echo hello; ${UNTIL_TOLD}`));
    await scene.ready('served');
    expect(await scene.logs('served')).toBe('hello\n');
    await scene.event('served', /^Normal /);
    await scene.delete('served');
    await scene.gone('served');
  });
});

interface Target {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly ca: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

function ask(target: Target): Promise<{ readonly code: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ ...target, agent: false }, (response) => {
      readText(response).then((body) => resolve({ code: response.statusCode ?? 0, body }), reject);
    });
    sent.once('error', reject);
    sent.end();
  });
}
