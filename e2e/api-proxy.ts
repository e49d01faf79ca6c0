import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'node:https';
import { parse, stringify } from 'yaml';
import type { ControlPlaneAccess } from './parts/control-plane.ts';

type Handler = (sent: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Stands between a node and the API server and can answer in its place. It speaks plain HTTP to the node, so a client certificate
 * would get lost: only for identities that have a token.
 */
export class ApiProxy {
  readonly #server: Server;
  readonly #open = new Set<ServerResponse>();
  /** Requests seen, oldest first: `GET /api/v1/pods?…`. */
  readonly requests: string[] = [];
  #handler: Handler = () => false;

  private constructor(plane: ControlPlaneAccess) {
    const { hostname, port } = new URL(plane.url);
    const ca = readFileSync(plane.kubeletClient.caFile);
    this.#server = createServer((sent, response) => {
      this.requests.push(`${sent.method} ${sent.url}`);
      this.#open.add(response);
      response.once('close', () => this.#open.delete(response));
      if (this.#handler(sent, response)) return;
      const { method, url: path, headers } = sent;
      const onward = request({ hostname, port, ca, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        answer.once('error', () => response.destroy());
      });
      onward.once('error', () => response.destroy());
      response.once('close', () => onward.destroy());
      sent.pipe(onward);
    });
  }

  static async start(plane: ControlPlaneAccess): Promise<ApiProxy> {
    const proxy = new ApiProxy(plane);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** A copy of a kubeconfig that goes through here. */
  kubeconfig(file: string): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy does not listen');
    const config = parse(readFileSync(file, 'utf8')) as { clusters: { cluster: object }[] }; // written by the test bed
    for (const entry of config.clusters)
      entry.cluster = { server: `http://127.0.0.1:${address.port}`, 'insecure-skip-tls-verify': true };
    const copy = `${file}.proxied`;
    writeFileSync(copy, stringify(config), { mode: 0o600 });
    return copy;
  }

  /** `handler` answers itself and says true, or leaves the request alone and says false. */
  intercept(handler: Handler): void {
    this.#handler = handler;
  }

  passAll(): void {
    this.#handler = () => false;
  }

  /** Breaks off every answer that is under way, watches above all. */
  breakOff(): void {
    for (const response of this.#open) response.destroy();
  }

  async stop(): Promise<void> {
    this.breakOff();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

export function isPodWatch({ url = '' }: IncomingMessage): boolean {
  return url.startsWith('/api/v1/pods?') && url.includes('watch=true');
}

/** How the API server tells that a watch's version is too old: as its first event, or as the answer itself. */
export function answerExpired(response: ServerResponse, as: 'event' | 'status'): void {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message: 'too old resource version: 1 (2)',
    reason: 'Expired',
    code: 410,
  };
  response.writeHead(as === 'event' ? 200 : 410, { 'content-type': 'application/json' });
  response.end(as === 'event' ? `${JSON.stringify({ type: 'ERROR', object: status })}\n` : JSON.stringify(status));
}
