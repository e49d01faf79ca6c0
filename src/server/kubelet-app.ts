import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Logger } from '../telemetry/logger.ts';
import { type AccessPolicy, checkAccess } from './auth.ts';
import { ClientAbort } from './client-abort.ts';
import { DEBUG_DISABLED, debugDisabled } from './debug-handlers.ts';
import { pathOf, sendText } from './reply.ts';
import { type DebugDeps, debugRoutes } from './routes/debug.ts';
import { type HealthzDeps, healthzRoutes } from './routes/healthz.ts';
import { type LogsDeps, logsRoutes } from './routes/logs.ts';
import { type MetricsDeps, metricsRoutes } from './routes/metrics.ts';
import { type PodsDeps, podsRoutes } from './routes/pods.ts';
import { runRoutes } from './routes/run.ts';
import { type StatsDeps, statsRoutes } from './routes/stats.ts';
import { streamRoutes } from './routes/streams.ts';
import type { StreamTargets } from './streaming/target.ts';

export interface KubeletAppOptions
  extends HealthzDeps,
    PodsDeps,
    StatsDeps,
    MetricsDeps,
    StreamTargets,
    Omit<LogsDeps, 'log'> {
  /** Absent: everybody is let in, to the little that the read-only port shows. */
  readonly access?: AccessPolicy;
  /** `enableDebuggingHandlers`, default true; always off without `access`. */
  readonly debugging?: boolean;
  /** What is shown of the node itself beside that; absent: nothing. */
  readonly debug?: Omit<DebugDeps, 'findPod' | 'signal'>;
  /** Told of every request (reference 11.14); calls what it returns when the answer is over. */
  readonly http: { began(method: string, url: string, server: 'readwrite' | 'readonly'): () => void };
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** Every plain request of the kubelet's HTTP API (reference 11.2); upgrades never reach it. */
export function kubeletApp(options: KubeletAppOptions): Express {
  const { log, access, debug, debugging = true } = options;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(counted(options.http, access === undefined ? 'readonly' : 'readwrite'));
  if (access !== undefined) app.use(onlyAllowed(access, options));
  // What the read-only port shows too:
  app.use(healthzRoutes(options));
  app.use(podsRoutes(options));
  app.use(statsRoutes(options));
  app.use(metricsRoutes(options));
  if (access !== undefined && debugging) {
    app.use(logsRoutes(options));
    app.use(streamRoutes(options));
    app.use(runRoutes(options));
    if (debug !== undefined) app.use(debugRoutes({ ...options, ...debug }));
  } else {
    app.use(debuggingDisabled);
  }
  app.use((request, response) => sendText(response, 404, notFoundText(pathOf(request))));
  app.use(answerFailure(log));
  return app;
}

/** Roots under which the kubelet's framework answers, with words of its own. */
const FRAMEWORK = /^\/(?:pods|stats|run|exec|attach|portForward|containerLogs|runningpods|checkpoint|logs)(?:\/|$)/;

function notFoundText(path: string): string {
  return FRAMEWORK.test(path) ? '404: Page Not Found' : '404 page not found\n';
}

function counted(http: KubeletAppOptions['http'], server: 'readwrite' | 'readonly'): RequestHandler {
  return (request, response, next) => {
    response.once('close', http.began(request.method, request.url, server));
    next();
  };
}

function onlyAllowed(access: AccessPolicy, { log, signal }: Pick<KubeletAppOptions, 'log' | 'signal'>): RequestHandler {
  return async (request, response, next) => {
    using child = new ClientAbort(response, signal);
    const decision = await checkAccess(request, access, { signal: child.signal });
    if (decision.type === 'granted') {
      next();
      return;
    }
    if (decision.cause !== undefined && !child.signal.aborted)
      log.warn({ err: decision.cause, path: request.path }, 'request could not be authorized');
    sendText(response, decision.code, decision.body);
  };
}

const debuggingDisabled: RequestHandler = (request, response, next) => {
  if (!debugDisabled(pathOf(request))) {
    next();
    return;
  }
  response.setHeader('X-Content-Type-Options', 'nosniff');
  sendText(response, DEBUG_DISABLED.code, DEBUG_DISABLED.body);
};

/** Express hands over what a route threw, and its own complaints about malformed paths (which carry a status). */
function answerFailure(log: Pick<Logger, 'error'>): ErrorRequestHandler {
  return (error: unknown, request, response, _next) => {
    const isClientError =
      error instanceof URIError || (error instanceof Error && 'status' in error && error.status === 400);
    if (!isClientError) log.error({ err: error, path: request.path }, 'request failed');
    if (response.headersSent) response.destroy();
    else if (isClientError) sendText(response, 400, 'Bad Request');
    else sendText(response, 500, 'Internal Server Error');
  };
}
