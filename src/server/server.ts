import { createServer, type Server } from 'node:https';
import express, { type ErrorRequestHandler, type Express } from 'express';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { type Authorize, checkAccess } from './auth.ts';
import { closeServer, listen } from './listen.ts';
import { sendText } from './reply.ts';
import { type HealthzDeps, healthzRoutes } from './routes/healthz.ts';
import { type LogsDeps, logsRoutes } from './routes/logs.ts';
import { type PodsDeps, podsRoutes } from './routes/pods.ts';
import type { KeyAndCert } from './serving-certificate.ts';
import { type TlsFileNames, TlsFiles } from './tls-files.ts';

export interface KubeletServerOptions extends HealthzDeps, PodsDeps, Omit<LogsDeps, 'signal' | 'log'>, TlsFileNames {
  readonly nodeName: string;
  readonly address: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** DNS names and addresses of the node, for the certificate that is made when no files are given. */
  readonly hosts: readonly string[];
  readonly authorize: Authorize;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

const IDLE_MS = 90_000;
const MAX_HEADER_BYTES = 1 << 20;

/**
 * The kubelet's HTTP API (reference 11). Every request needs a client certificate signed by the configured authority, and then
 * an authorization; without an authority nobody is let in.
 */
export class KubeletServer {
  readonly #options: KubeletServerOptions;
  readonly #stop = new AbortController();
  #server: Server | undefined;
  #reloading: Promise<void> = Promise.resolve();

  constructor(options: KubeletServerOptions) {
    this.#options = options;
  }

  /** Resolves with the port when connections are taken; throws UsageError where a flag or a file is to blame. */
  async start(): Promise<{ readonly port: number }> {
    const { address, port, clock, log } = this.#options;
    const files = new TlsFiles(this.#options, await this.#ownCertificate());
    const server = createServer(
      {
        ...(await files.load()),
        // Asked for, not demanded: who has none gets an answer in HTTP (401), not a broken handshake.
        requestCert: true,
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
        keepAliveTimeout: IDLE_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
      },
      this.#app(),
    );
    this.#server = server;
    server.on('tlsClientError', () => {}); // port scanners and TCP probes; nothing of ours failed
    const bound = await listen(server, { address, port, flags: '--address, --port', log });
    const { signal } = this.#stop;
    this.#reloading = files.watch((context) => server.setSecureContext(context), { clock, log, signal });
    return { port: bound };
  }

  /** Ends open streams, followed logs too, and takes no more connections. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await this.#reloading;
    await closeServer(this.#server);
  }

  async #ownCertificate(): Promise<KeyAndCert | undefined> {
    const { nodeName, hosts, clock, tls } = this.#options;
    if (tls !== undefined) return undefined;
    const { makeServingCertificate } = await import('./serving-certificate.ts');
    return makeServingCertificate(nodeName, hosts, clock.now());
  }

  #app(): Express {
    const { signal } = this.#stop;
    const { log, authorize } = this.#options;
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.use(async (request, response, next) => {
      using child = new ChildAbort(signal);
      const onClose = (): void => child.abort(new Error('the client is gone'));
      response.once('close', onClose);
      const access = await checkAccess(request, authorize, { signal: child.signal });
      response.off('close', onClose);
      if (access.type === 'granted') {
        next();
        return;
      }
      if (access.code === 500 && !child.signal.aborted)
        log.warn({ err: access.cause, path: request.path }, 'request could not be authorized');
      sendText(response, access.code, access.body);
    });
    app.use(healthzRoutes(this.#options));
    app.use(podsRoutes(this.#options));
    app.use(logsRoutes({ ...this.#options, signal }));
    app.use((_request, response) => sendText(response, 404, '404 page not found\n'));
    app.use(answerFailure(log));
    return app;
  }
}

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
