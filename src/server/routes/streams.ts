import { Router } from 'express';
import { only, queryOf, sendText } from '../reply.ts';
import { planStream, type StreamTargets, streamRoute } from '../streaming/target.ts';

/** Plain requests to the paths of streams: wrong in any case, and the kubelet says first what else is wrong (reference 11.3). */
export function streamRoutes(targets: StreamTargets): Router {
  const router = Router({ caseSensitive: true });
  const allowed = only('GET', 'POST');
  router.use((request, response, next) => {
    const route = streamRoute(request.url);
    if (route === undefined) {
      next();
      return;
    }
    if (route.type === 'refused') {
      sendText(response, route.code, route.body);
      return;
    }
    allowed(request, response, () => {
      const plan = planStream(targets, route, queryOf(request), { needsPorts: false });
      if (plan.type === 'refused') sendText(response, plan.code, plan.body);
      else sendText(response, 500, 'Upgrade request required\n');
    });
  });
  return router;
}
