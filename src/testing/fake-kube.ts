import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  /** Parsed JSON; undefined without a body. */
  readonly body: unknown;
}

export type FakeReply =
  | { readonly status?: number; readonly headers?: http.OutgoingHttpHeaders; readonly body?: unknown }
  /** Never answers. */
  | 'silence'
  /** Cuts the connection instead of an answer. */
  | 'cut'
  /** Holds the answer open; the test writes it through `nextWatch()`. */
  | 'watch';

/** An answer that the test holds open. */
export class FakeWatch {
  readonly request: FakeRequest;
  readonly #response: http.ServerResponse;
  closed = false;

  constructor(request: FakeRequest, response: http.ServerResponse) {
    this.request = request;
    this.#response = response;
    response.once('close', () => {
      this.closed = true;
    });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
  }

  send(type: string, object: unknown): void {
    this.raw(`${JSON.stringify({ type, object })}\n`);
  }

  /** False when the socket's buffers are full. */
  raw(text: string): boolean {
    return this.#response.write(text);
  }

  end(): void {
    this.#response.end();
  }

  /** The connection breaks, wherever it is. */
  cut(): void {
    this.#response.destroy();
  }
}

/** A server that says what a test tells it to say: for faults that a real API server does not make on demand. */
export class FakeKube {
  readonly requests: FakeRequest[] = [];
  /** Decides every answer; replace it at any time. */
  answer: (request: FakeRequest) => FakeReply | Promise<FakeReply> = () => status(404, 'NotFound');
  readonly #server: http.Server;
  readonly #watches: FakeWatch[] = [];

  private constructor() {
    this.#server = http.createServer((request, response) => {
      // A failure of a script fails the test run as an unhandled rejection.
      void this.#serve(request, response);
    });
  }

  static async start(): Promise<FakeKube> {
    const kube = new FakeKube();
    await new Promise<void>((resolve) => kube.#server.listen(0, '127.0.0.1', resolve));
    return kube;
  }

  get url(): string {
    // A TCP server that listens has an address object.
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  /** Stands for a KubeConfig. */
  get credentials() {
    return {
      getCurrentCluster: () => ({ server: this.url }),
      applyToHTTPSOptions: async () => {},
    };
  }

  /** The next open watch that was not handed out yet. */
  async nextWatch(): Promise<FakeWatch> {
    await until(() => this.#watches.length > 0);
    const watch = this.#watches.shift();
    if (watch === undefined) throw new Error('no watch');
    return watch;
  }

  count(method: string, path?: string): number {
    return this.requests.filter((request) => request.method === method && (path === undefined || request.path === path))
      .length;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(incoming: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const url = new URL(incoming.url ?? '/', 'http://fake');
    const text = Buffer.concat(chunks).toString('utf8');
    const request: FakeRequest = {
      method: incoming.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: incoming.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
    this.requests.push(request);
    const reply = await this.answer(request);
    if (reply === 'silence') return;
    if (reply === 'cut') {
      incoming.socket.destroy();
    } else if (reply === 'watch') {
      this.#watches.push(new FakeWatch(request, response));
    } else {
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
      response.end(reply.body === undefined ? '' : JSON.stringify(reply.body));
    }
  }
}

/** An error answer as the API server gives it. */
export function status(code: number, reason: string, message = reason): Extract<FakeReply, object> {
  return { status: code, body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message } };
}

export function list(resourceVersion: string, items: readonly unknown[], next?: string): Extract<FakeReply, object> {
  const metadata = next === undefined ? { resourceVersion } : { resourceVersion, continue: next };
  return { body: { kind: 'List', apiVersion: 'v1', metadata, items } };
}

/** Waits for sockets, without a clock: real I/O needs a few turns of the event loop. */
export async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error(`never true: ${condition}`);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
