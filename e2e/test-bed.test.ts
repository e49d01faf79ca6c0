import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ApiError, Kube } from './parts/kube.ts';
import { TestBed } from './parts/test-bed.ts';

let bed: TestBed;
beforeAll(async () => {
  bed = await TestBed.open(inject('testBed'));
});
afterAll(async () => {
  await bed.close();
});

describe('the test bed', () => {
  it('gives each node a pod network out of the cluster network', async () => {
    await bed.kube.create({ kind: 'Node', metadata: { name: 'bed-cidr' } });
    const node = await bed.kube.waitFor(
      'Node',
      'bed-cidr',
      'given a network',
      ({ spec }) => spec?.podCIDR !== undefined,
    );
    const [first, second] = bed.plane.info.clusterCidr.split('.');
    expect(node.spec?.podCIDR).toMatch(new RegExp(`^${first}\\.${second}\\.\\d+\\.0/24$`));
    await bed.kube.delete('Node', 'bed-cidr');
  });

  it('judges a node by the Node authorizer: only the pods that are bound to it', async () => {
    const kube = await Kube.open(await bed.plane.nodeKubeconfig('bed-identity'));
    await expect(kube.list('Pod', undefined)).rejects.toThrow(ApiError);
    expect(await kube.list('Pod', undefined, { fieldSelector: 'spec.nodeName=bed-identity' })).toEqual([]);
    await expect(kube.create({ kind: 'Node', metadata: { name: 'another' } })).rejects.toThrow('is not allowed');
    kube.close();
  });

  it('judges a ServiceAccount by its roles', async () => {
    const kube = await Kube.open(await bed.plane.serviceAccountKubeconfig());
    await expect(kube.list('Pod', undefined)).resolves.toBeInstanceOf(Array);
    await expect(kube.list('Deployment', undefined)).rejects.toThrow('403');
    kube.close();
  });

  it('has the images of the tests on its engine', async () => {
    expect(await bed.docker.image('registry.k8s.io/pause:3.10.2')).toBeDefined();
    expect(await bed.docker.image('registry.k8s.io/e2e-test-images/busybox:1.37.0-1')).toBeDefined();
  });
});
