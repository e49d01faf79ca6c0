import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { KubeConfig } from '@kubernetes/client-node';

/** What the API server answered with a status of 400 or more. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;

  constructor(what: string, code: number, body: string) {
    const status = parseStatus(body);
    super(`${what}: ${code} ${status.message ?? body.slice(0, 500)}`);
    this.code = code;
    this.reason = status.reason ?? '';
  }
}

function parseStatus(body: string): { message?: string; reason?: string } {
  try {
    return JSON.parse(body) as { message?: string; reason?: string }; // the API's Status; only printed
  } catch {
    return {};
  }
}

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

/** Requests with the credentials of a kubeconfig, of whatever kind they are. */
export class KubeHttp {
  readonly url: string;
  readonly #options: RequestOptions;

  private constructor(url: string, options: RequestOptions) {
    this.url = url;
    this.#options = options;
  }

  static async open(kubeconfig: string, context?: string): Promise<KubeHttp> {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    if (context !== undefined) config.setCurrentContext(context);
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new Error(`${kubeconfig} names no cluster${context ? ` for context ${context}` : ''}`);
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    if (options.agent instanceof Agent) options.agent.options.keepAlive = true;
    return new KubeHttp(cluster.server.replace(/\/$/, ''), options);
  }

  /** The response as soon as its head is there; the caller reads or destroys it. */
  open({ method, path, body, contentType = 'application/json', signal }: HttpRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const headers = { ...this.#options.headers, Accept: 'application/json' };
      const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
      const sent = request(
        `${this.url}${path}`,
        {
          ...this.#options,
          method,
          // Node announces no length for a DELETE by itself, and what is not announced is not read.
          headers:
            content === undefined
              ? headers
              : { ...headers, 'Content-Type': contentType, 'Content-Length': content.length },
          ...(signal === undefined ? {} : { signal }),
        },
        resolve,
      );
      sent.once('error', (error) => reject(new Error(`${method} ${path}: ${error.message}`, { cause: error })));
      sent.end(content);
    });
  }

  async text(options: HttpRequest): Promise<string> {
    const response = await this.open({ signal: AbortSignal.timeout(30_000), ...options });
    const text = await readText(response);
    const code = response.statusCode ?? 0;
    if (code >= 400) throw new ApiError(`${options.method} ${options.path}`, code, text);
    return text;
  }

  close(): void {
    if (this.#options.agent instanceof Agent) this.#options.agent.destroy();
  }
}

export async function readText(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}
