import { createServer, type Server } from 'node:http';
import { type KubeletAppOptions, kubeletApp } from './kubelet-app.ts';
import { closeServer, HTTP_LIMITS, listen } from './listen.ts';

export interface ReadOnlyServerOptions extends Omit<KubeletAppOptions, 'access' | 'debug' | 'debugging' | 'signal'> {
  readonly address: string;
  readonly port: number;
}

/** `--read-only-port`: plain HTTP for everybody, with pods, stats, metrics and health, and nothing that changes or runs anything. */
export class ReadOnlyServer {
  readonly #options: ReadOnlyServerOptions;
  readonly #stop = new AbortController();
  #server: Server | undefined;

  constructor(options: ReadOnlyServerOptions) {
    this.#options = options;
  }

  async start(): Promise<{ readonly port: number }> {
    const { address, port, log } = this.#options;
    const server = createServer(HTTP_LIMITS, kubeletApp({ ...this.#options, signal: this.#stop.signal }));
    this.#server = server;
    return { port: await listen(server, { address, port, flags: '--address, --read-only-port', log }) };
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await closeServer(this.#server);
  }
}
