import { Router } from 'express';
import type { Pod } from '../../model/pod.ts';
import { onlyGet } from '../reply.ts';

export interface PodsDeps {
  /** The desired pods, as the API server last sent them. */
  pods(): Iterable<Pod>;
}

/** Annotation by which agents tell pods of the API server from those of files (reference 11.2). */
const SOURCE_ANNOTATION = 'kubernetes.io/config.source';

export function podsRoutes({ pods }: PodsDeps): Router {
  const router = Router({ caseSensitive: true });
  router.all('/pods', onlyGet);
  router.get('/pods', (_request, response) => {
    response.json(podList(pods()));
  });
  return router;
}

function podList(pods: Iterable<Pod>): object {
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [...pods].map(listItem) };
}

/** Items of a list carry no type of their own. */
function listItem({ kind: _kind, apiVersion: _apiVersion, metadata, ...rest }: Pod): object {
  const annotations = { ...metadata.annotations, [SOURCE_ANNOTATION]: 'api' };
  return { metadata: { ...metadata, annotations }, ...rest };
}
