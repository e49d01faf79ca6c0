import { Router } from 'express';
import type { PodUid } from '../../../providers/contract/index.ts';
import { type Pod, podUid } from '../../model/pod.ts';
import { onlyGet } from '../reply.ts';

export interface PodsDeps {
  /** The desired pods, as the API server last sent them. */
  pods(): Iterable<Pod>;
  /** When this process first heard of a pod. */
  seenMs?(uid: PodUid): number | undefined;
}

/** Annotations of the kubelet's own, which the API server never sees (reference 11.2). */
const SEEN_ANNOTATION = 'kubernetes.io/config.seen';
/** By this one agents tell pods of the API server from those of files. */
const SOURCE_ANNOTATION = 'kubernetes.io/config.source';

export function podsRoutes(deps: PodsDeps): Router {
  const router = Router({ caseSensitive: true });
  router.all('/pods', onlyGet);
  router.get('/pods', (_request, response) => {
    response.json(podList(deps));
  });
  return router;
}

function podList(deps: PodsDeps): object {
  const items = [...deps.pods()].map((pod) => listItem(pod, deps.seenMs?.(podUid(pod))));
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}

/** Items of a list carry no type of their own. */
function listItem(
  { kind: _kind, apiVersion: _apiVersion, metadata, ...rest }: Pod,
  seenMs: number | undefined,
): object {
  const annotations = {
    ...metadata.annotations,
    ...(seenMs !== undefined && { [SEEN_ANNOTATION]: new Date(seenMs).toISOString() }),
    [SOURCE_ANNOTATION]: 'api',
  };
  return { metadata: { ...metadata, annotations }, ...rest };
}
