import express, { type Response, Router } from 'express';
import type { Logger } from '../../telemetry/logger.ts';
import { errorMessage } from '../../util/errors.ts';
import { only, onlyGet, queryOf, sendText } from '../reply.ts';
import { TEXT_FORMAT } from './text-format.ts';

export interface StatsDeps {
  /** Absent where the backend cannot measure (501). None of these waits for it. */
  readonly stats?: StatsSource;
  readonly log: Pick<Logger, 'warn'>;
}

export interface StatsSource {
  /** Throws when nothing is known. */
  summary(onlyCpuAndMemory: boolean): object;
  resource(): string;
  cadvisor(): string;
}

const MAX_FORM_BYTES = 4096;

/** `/stats/summary`, `/metrics/resource` and `/metrics/cadvisor` (reference 11.2, 14.4, 14.5). */
export function statsRoutes({ stats, log }: StatsDeps): Router {
  const router = Router({ caseSensitive: true });
  const given = (response: Response, answer: (source: StatsSource) => void): void => {
    if (stats === undefined) sendText(response, 501, 'the backend of this node cannot be measured\n');
    else answer(stats);
  };

  router.all('/stats/summary', only('GET', 'POST'));
  const form = express.text({ type: 'application/x-www-form-urlencoded', limit: MAX_FORM_BYTES });
  router.all('/stats/summary', form, (request, response) =>
    given(response, (source) => {
      const body: unknown = request.body;
      const asked = [...queryOf(request), ...new URLSearchParams(typeof body === 'string' ? body : '')]
        .filter(([name]) => name === 'only_cpu_and_memory')
        .map(([, value]) => value);
      try {
        const summary = source.summary(asked.length === 1 && asked[0] === 'true');
        sendJson(response, summary);
      } catch (error) {
        log.warn({ err: error }, 'summary cannot be told');
        sendText(response, 500, `Internal Error: ${errorMessage(error)}`);
      }
    }),
  );

  const page = (path: string, tell: (source: StatsSource) => string): void => {
    router.all(path, onlyGet);
    router.get(path, (_request, response) =>
      given(response, (source) => {
        const text = tell(source);
        response.setHeader('Content-Type', TEXT_FORMAT);
        response.setHeader('Content-Length', Buffer.byteLength(text));
        response.end(text);
      }),
    );
  };
  page('/metrics/resource', (source) => source.resource());
  page('/metrics/cadvisor', (source) => source.cadvisor());
  return router;
}

/** Indented by one blank, as the kubelet's. */
function sendJson(response: Response, value: object): void {
  const text = JSON.stringify(value, null, 1);
  response.setHeader('Content-Type', 'application/json');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}
