import { spawnSync } from 'node:child_process';
import { expect } from 'vitest';
import { KUBELET_LINT } from '../../src/testing/kubelet-lint.ts';
import { matrix } from '../matrix.ts';
import { binaryPath, buildBinaries } from '../parts/build.ts';
import { Progress } from '../parts/progress.ts';
import { proxied } from '../parts/scrape.ts';
import { shell } from '../scene.ts';

const PAGES = ['/metrics', '/metrics/probes', '/metrics/resource', '/metrics/cadvisor', '/metrics/slis'];

matrix('promtool', ({ test }) => {
  test(
    'promtool has nothing against any page but names that the kubelet has too',
    async (scene) => {
      await buildBinaries(['promtool'], new Progress());
      const probe = { exec: { command: ['true'] }, periodSeconds: 1 };
      await scene.create('probed', scene.offers('containerRestarts') ? { readinessProbe: probe } : {});
      await scene.create('ended', shell('exit 3'), { restartPolicy: 'Never' });
      await scene.ready('probed');
      await scene.phase('ended', 'Failed');
      for (const path of PAGES) {
        const page = await proxied(scene, path);
        const { status, stderr } = spawnSync(binaryPath('promtool'), ['check', 'metrics'], {
          input: page,
          encoding: 'utf8',
        });
        const complaints = stderr.split('\n').filter((line) => line !== '' && !KUBELET_LINT.includes(line));
        expect([path, complaints]).toEqual([path, []]);
        // 3: it has read everything and does not like a name.
        expect([0, 3]).toContain(status);
      }
    },
    { timeoutMs: 900_000 },
  );
});
