import { Router } from 'express';
import type { ObservedPod } from '../../../providers/contract/index.ts';
import { onlyGet, redirectToFolder } from '../reply.ts';

export interface RunningPodsDeps {
  /** What the backend last said. */
  observedPods(): Iterable<ObservedPod>;
}

/** Pods as the backend sees them, whether the API server wants them or not (reference 11.2). For tests and people. */
export function runningPodsRoutes({ observedPods }: RunningPodsDeps): Router {
  const router = Router({ caseSensitive: true });
  router.all('/runningpods/', redirectToFolder('/runningpods/'), onlyGet, (_request, response) => {
    response.json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: runningPods(observedPods()) });
  });
  return router;
}

/** Youngest first, as the kubelet lists them; without those of which nothing runs any more. */
function runningPods(pods: Iterable<ObservedPod>): readonly object[] {
  return [...pods]
    .map((pod) => ({ pod, running: pod.containers.filter(({ state }) => state.status === 'running') }))
    .filter(({ pod, running }) => pod.state === 'ready' || running.length > 0)
    .sort((a, b) => b.pod.createdAt.getTime() - a.pod.createdAt.getTime())
    .map(({ pod: { pod }, running }) => ({
      metadata: { name: pod.name, namespace: pod.namespace, uid: pod.uid },
      spec: {
        // As Go writes a list that was never made.
        containers: running.length === 0 ? null : running.map(({ name, image }) => ({ name, image, resources: {} })),
      },
      status: {},
    }));
}
