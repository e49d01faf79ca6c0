import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { answerExpired, ApiProxy, isPodWatch } from '../api-proxy.ts';
import { expectCleanNode, inNamespace, SIMULATED } from '../matrix.ts';
import { TestBed } from '../parts/test-bed.ts';
import { containerStatus, eventually } from '../scene.ts';

// No matter of the provider: the fastest one serves.
describe.each(['event', 'status'] as const)('a watch that ends with 410 as its %s', (as) => {
  let bed: TestBed;
  let proxy: ApiProxy;
  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
    proxy = await ApiProxy.start(bed.plane);
  });
  afterAll(async () => {
    await bed.close();
    await proxy.stop();
  });

  it('is followed by a list: what was made, deleted and made again meanwhile is known, what runs goes on', async () => {
    const kubeconfig = proxy.kubeconfig(await bed.plane.serviceAccountKubeconfig());
    const outrigger = await bed.startNode(bed.nodeName(`expiry-${as}`), {
      provider: 'fake',
      identity: 'service-account',
      args: [`--kubeconfig=${kubeconfig}`],
    });
    await inNamespace({ bed, outrigger, backend: SIMULATED }, async (scene) => {
      for (const name of ['stays', 'deleted', 'again']) await scene.create(name);
      const stays = await scene.ready('stays');
      await scene.ready('deleted');
      const again = await scene.ready('again');
      const lists = () =>
        proxy.requests.filter((line) => line.startsWith('GET /api/v1/pods?') && !line.includes('watch=')).length;
      const before = lists();
      let expired = 0;
      proxy.intercept((sent, response) => {
        if (!isPodWatch(sent)) return false;
        expired++;
        answerExpired(response, as);
        return true;
      });
      proxy.breakOff();
      await scene.delete('deleted', 0);
      await scene.delete('again', 0);
      await scene.create('again');
      await scene.create('new');
      await eventually('a watch that has expired', () => expired > 0);
      // The list alone tells the news, as no watch is served.
      const second = await scene.ready('again');
      await scene.ready('new');
      expect(second.metadata.uid).not.toBe(again.metadata.uid);
      expect(lists()).toBeGreaterThan(before);
      // A server that refuses every watch is not stormed.
      expect(expired).toBeLessThan(40);
      proxy.passAll();
      await scene.create('after');
      await scene.ready('after');
      expect(containerStatus(await scene.ready('stays'))).toEqual(containerStatus(stays));
    });
    await expectCleanNode(bed, outrigger);
  });
});
