import { afterAll, beforeAll, describe, inject, it } from 'vitest';
import { quickCrashLoops, surviveOutage } from './api-outage.ts';
import { expectCleanNode, inNamespace, REAL } from './matrix.ts';
import { type ControlPlane, startControlPlane } from './parts/control-plane.ts';
import { TestBed } from './parts/test-bed.ts';

/** On a control plane of its own, since nobody else survives without one. */
export function outageSuite(name: string, outageMs: number): void {
  describe(name, () => {
    let bed: TestBed;
    let plane: ControlPlane;
    beforeAll(async () => {
      bed = await TestBed.open(inject('testBed'));
      plane = await startControlPlane({ dir: bed.folder('outage-plane') });
    });
    afterAll(async () => {
      await bed.close();
      await plane?.stop();
    });

    it('containers go on, crash loops go on, status catches up', async () => {
      const outrigger = await bed.startNode(bed.nodeName('outage'), {
        plane,
        args: [quickCrashLoops({ bed }, 'outage')],
      });
      const kube = await plane.kube();
      await inNamespace({ bed, outrigger, kube, backend: REAL }, (scene) => surviveOutage(scene, plane, outageMs));
      await expectCleanNode(bed, outrigger, kube);
      kube.close();
    });
  });
}
