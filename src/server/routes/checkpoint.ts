import { Router } from 'express';
import type { Pod } from '../../model/pod.ts';
import { hasContainer } from '../logs/instance.ts';
import { only, queryOf, sendText } from '../reply.ts';

export interface CheckpointDeps {
  findPod(namespace: string, name: string): Pod | undefined;
}

/** A request is judged as by the kubelet (reference 11.2); then there is no backend of ours that could do it. */
export function checkpointRoutes({ findPod }: CheckpointDeps): Router {
  const router = Router({ caseSensitive: true });
  router.all('/checkpoint/:namespace/:pod/:container', only('POST'), (request, response) => {
    const { namespace, pod: name, container } = request.params;
    const pod = findPod(namespace, name);
    if (pod === undefined) {
      sendText(response, 404, 'pod does not exist');
      return;
    }
    if (!hasContainer(pod, container)) {
      sendText(response, 404, `container ${container} does not exist`);
      return;
    }
    const timeout = queryOf(request).getAll('timeout').at(-1);
    if (timeout !== undefined && !/^[+-]?\d+$/.test(timeout)) {
      sendText(response, 404, 'cannot parse value of timeout parameter');
      return;
    }
    const why = 'the backend of this node makes no checkpoints';
    sendText(response, 501, `checkpointing of ${namespace}/${name}/${container} failed (${why})`);
  });
  return router;
}
