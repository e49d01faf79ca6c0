import { createServer, type Server } from 'node:http';
import express from 'express';
import { closeServer, listen } from './listen.ts';
import { sendText } from './reply.ts';
import { type HealthzDeps, healthzRoutes } from './routes/healthz.ts';

export interface HealthzServerOptions extends HealthzDeps {
  readonly address: string;
  readonly port: number;
}

/** Plain HTTP for probes of the process itself: `/healthz` and nothing else, for everybody (reference 11.1). */
export class HealthzServer {
  readonly #options: HealthzServerOptions;
  #server: Server | undefined;

  constructor(options: HealthzServerOptions) {
    this.#options = options;
  }

  async start(): Promise<{ readonly port: number }> {
    const { address, port } = this.#options;
    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.use(healthzRoutes(this.#options));
    app.use((_request, response) => sendText(response, 404, '404 page not found\n'));
    const server = createServer(app);
    this.#server = server;
    return { port: await listen(server, { address, port, flags: '--healthz-port', log: this.#options.log }) };
  }

  async stop(): Promise<void> {
    await closeServer(this.#server);
  }
}
