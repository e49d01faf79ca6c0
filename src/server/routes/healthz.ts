import { Router } from 'express';
import type { Logger } from '../../telemetry/logger.ts';
import { type HealthAnswer, type HealthCheck, healthz, singleCheck } from '../health.ts';
import { queryOf, sendText } from '../reply.ts';

export interface HealthzDeps {
  readonly checks: readonly HealthCheck[];
  readonly log: Pick<Logger, 'warn'>;
}

/** As the kubelet, whatever the method. */
export function healthzRoutes({ checks, log }: HealthzDeps): Router {
  const router = Router({ caseSensitive: true });
  const report = (answer: HealthAnswer): HealthAnswer => {
    if (answer.failed.length > 0) log.warn({ checks: answer.failed }, 'health check failed');
    return answer;
  };
  router.all('/healthz', (request, response) => {
    const { code, body } = report(healthz(checks, queryOf(request)));
    response.setHeader('X-Content-Type-Options', 'nosniff');
    sendText(response, code, body);
  });
  router.all('/healthz/:name', (request, response, next) => {
    const answer = singleCheck(checks, request.params.name);
    if (answer === undefined) {
      next();
      return;
    }
    const { code, body } = report(answer);
    sendText(response, code, body);
  });
  return router;
}
