import { matrix } from '../matrix.ts';
import { probesSurvive } from '../probe-survival.ts';

matrix(
  'many probes',
  ({ test }) => test('kill -9: 50 probed pods notice nothing', (scene) => probesSurvive(scene, 50)),
  {
    needs: ['outlivesProcess'],
  },
);
