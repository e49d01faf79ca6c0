import { type Response, Router } from 'express';
import { sendText } from '../reply.ts';

export interface ZpagesDeps {
  /** What stood on the command line, without dashes. None of the flags takes a secret. */
  readonly flags: Readonly<Record<string, string>>;
  readonly productVersion: string;
  /** When this process began, and now. */
  readonly startedAtMs: number;
  now(): number;
}

const WARNING =
  'Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.';

/** First parts of what is served, as the kubelet lists them: only what its framework does not route. */
const PATHS = ['/configz', '/debug', '/flagz', '/healthz', '/metrics'];

/** `/flagz` and `/statusz` as text. */
export function zpagesRoutes(deps: ZpagesDeps): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/flagz', (_request, response) => send(response, 'flagz', flagLines(deps)));
  router.all('/statusz', (_request, response) => send(response, 'statusz', ['', ...statusLines(deps)]));
  return router;
}

function send(response: Response, page: string, lines: readonly string[]): void {
  sendText(response, 200, ['', `kubelet ${page}`, WARNING, ...lines, ''].join('\n'));
}

function flagLines({ flags }: ZpagesDeps): readonly string[] {
  return Object.entries(flags)
    .map(([name, value]) => `${name}=${value}`)
    .sort();
}

function statusLines({ productVersion, startedAtMs, now }: ZpagesDeps): readonly string[] {
  const up = Math.max(0, Math.floor((now() - startedAtMs) / 1000));
  const two = (value: number): string => String(value).padStart(2, '0');
  return [
    `Started: ${new Date(startedAtMs).toISOString()}`,
    `Up: ${Math.floor(up / 3600)} hr ${two(Math.floor(up / 60) % 60)} min ${two(up % 60)} sec`,
    `Node.js version: ${process.version}`,
    `Binary version: ${productVersion}`,
    '',
    `Paths: ${PATHS.join(' ')}`,
  ];
}
