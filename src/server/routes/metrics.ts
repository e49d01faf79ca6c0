import { Router } from 'express';
import { onlyGet } from '../reply.ts';
import { TEXT_FORMAT } from './text-format.ts';

/** Pages of metrics in Prometheus' text format; each is put together when it is asked for. */
interface MetricsSource {
  main(): Promise<string>;
  probing(): Promise<string>;
  slis(): Promise<string>;
}

export interface MetricsDeps {
  readonly metrics: MetricsSource;
}

/** `/metrics`, `/metrics/probes` and `/metrics/slis` (reference 11.2, 14.2, 4.10). */
export function metricsRoutes({ metrics }: MetricsDeps): Router {
  const router = Router({ caseSensitive: true });
  const page = (path: string, tell: () => Promise<string>): void => {
    router.all(path, onlyGet);
    router.get(path, async (_request, response) => {
      const text = await tell();
      response.setHeader('Content-Type', TEXT_FORMAT);
      response.setHeader('Content-Length', Buffer.byteLength(text));
      response.end(text);
    });
  };
  page('/metrics', () => metrics.main());
  page('/metrics/probes', () => metrics.probing());
  page('/metrics/slis', () => metrics.slis());
  return router;
}
