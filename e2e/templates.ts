import type { Pod } from '../src/model/pod.ts';
import { IMAGES } from './parts/images.ts';
import { type Place, shell, UNTIL_TOLD } from './scene.ts';

interface Template {
  readonly metadata: { readonly labels: Record<string, string> };
  readonly spec: Pod['spec'];
}

/** For what a controller makes and the scheduler places: on the node of the test, whose taint it tolerates. */
export function podTemplate({ node }: Pick<Place, 'node'>, app: string, script = UNTIL_TOLD): Template {
  return {
    metadata: { labels: { app } },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': node },
      tolerations: [{ key: 'virtual-kubelet.io/provider', operator: 'Exists' }],
      terminationGracePeriodSeconds: 2,
      containers: [{ name: 'main', image: IMAGES.busybox, ...shell(script) }],
    },
  };
}

export function jobSpec(place: Pick<Place, 'node'>, script: string) {
  const { spec } = podTemplate(place, 'job', script);
  return { backoffLimit: 0, template: { spec: { ...spec, restartPolicy: 'Never' } } };
}
