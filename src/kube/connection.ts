import http from 'node:http';
import https from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../util/clock.ts';
import { ApiUnreachable } from './errors.ts';

/** What is used of client-node's KubeConfig: where the server is, and how to prove who we are. */
export interface Credentials {
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string | undefined } | null;
  applyToHTTPSOptions(options: https.RequestOptions): Promise<void>;
}

export interface Target {
  readonly secure: boolean;
  /** Everything of a request but method, path and body. */
  readonly options: https.RequestOptions;
  /** Path prefix of the server URL, without trailing slash. */
  readonly basePath: string;
  readonly headers: http.OutgoingHttpHeaders;
  /** Requests share a bounded pool; each watch holds a socket of its own for minutes, so watches have another one. */
  readonly requestAgent: http.Agent;
  readonly streamAgent: http.Agent;
}

/** Token files, certificates and exec plugins are asked again this often: cheap, and soon enough after a rotation. */
const CREDENTIALS_MAX_AGE_MS = 10_000;
const TCP_KEEP_ALIVE_MS = 30_000;

type Tls = Pick<
  https.RequestOptions,
  'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'
>;

/** Keeps one pool of sockets, and replaces it when the TLS material changes. */
export class Connection {
  readonly #credentials: Credentials;
  readonly #clock: Clock;
  readonly #maxSockets: number;
  #target: Target | undefined;
  #headersKey: string | undefined;
  #tlsKey: string | undefined;
  #checkedAt = 0;
  #refreshing: Promise<Target> | undefined;

  constructor(credentials: Credentials, clock: Clock, maxSockets: number) {
    this.#credentials = credentials;
    this.#clock = clock;
    this.#maxSockets = maxSockets;
  }

  async target(): Promise<Target> {
    if (this.#target !== undefined && this.#clock.now() - this.#checkedAt < CREDENTIALS_MAX_AGE_MS) return this.#target;
    return this.#refresh();
  }

  /** After a 401: reads the credentials again and tells whether they are other ones than those that were refused. */
  async renewed(refused: Target): Promise<boolean> {
    return (await this.#refresh()) !== refused;
  }

  /** Sockets that lie in the pool may be dead (half open) when one of them was: nothing should wait on them in turn. */
  dropIdleSockets(): void {
    for (const agent of [this.#target?.requestAgent, this.#target?.streamAgent]) {
      for (const sockets of Object.values(agent?.freeSockets ?? {}))
        for (const socket of sockets ?? []) socket.destroy();
    }
  }

  close(): void {
    this.#target?.requestAgent.destroy();
    this.#target?.streamAgent.destroy();
  }

  #refresh(): Promise<Target> {
    this.#refreshing ??= this.#load().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #load(): Promise<Target> {
    const options: https.RequestOptions = {};
    try {
      await this.#credentials.applyToHTTPSOptions(options);
    } catch (error) {
      throw new ApiUnreachable('credentials for the API server are not available', { cause: error });
    }
    const cluster = this.#credentials.getCurrentCluster();
    if (cluster === null) throw new ApiUnreachable('no cluster in the kubeconfig');
    const headers = cleanHeaders(options);
    const headersKey = JSON.stringify([headers, options.auth]);
    const tlsKey = [options.ca, options.cert, options.key].map(String).join('|');
    this.#checkedAt = this.#clock.now();
    if (this.#target !== undefined && this.#headersKey === headersKey && this.#tlsKey === tlsKey) return this.#target;
    const tlsChanged = this.#tlsKey !== tlsKey;
    if (tlsChanged) this.#retire();
    this.#headersKey = headersKey;
    this.#tlsKey = tlsKey;
    this.#target = this.#build(new URL(cluster.server), options, headers, cluster.proxyUrl, tlsChanged);
    return this.#target;
  }

  /**
   * The old identity is not used any longer than it has to (reference 13.2): watches begin again at once, as they end without harm;
   * requests in flight end on their sockets, which then go.
   */
  #retire(): void {
    if (this.#target === undefined) return;
    const { requestAgent, streamAgent } = this.#target;
    requestAgent.maxFreeSockets = 0;
    this.dropIdleSockets();
    streamAgent.destroy();
  }

  #build(
    url: URL,
    options: https.RequestOptions,
    headers: http.OutgoingHttpHeaders,
    proxyUrl: string | undefined,
    newAgents: boolean,
  ): Target {
    const secure = url.protocol === 'https:';
    const tls: Tls = {};
    for (const key of ['ca', 'cert', 'key', 'pfx', 'passphrase', 'rejectUnauthorized', 'servername'] as const) {
      if (options[key] !== undefined) Object.assign(tls, { [key]: options[key] });
    }
    // Parsed once: Node would parse keys and certificates anew for every connection, and compare them for every request.
    const { rejectUnauthorized, servername, ...material } = tls;
    const secureContext = secure ? createSecureContext(material) : undefined;
    const verification = {
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
      ...(servername === undefined ? {} : { servername }),
    };
    const agent = (maxSockets: number): http.Agent => {
      // Only the library knows how to go through an HTTP or SOCKS proxy.
      if (proxyUrl !== undefined && options.agent instanceof http.Agent) return options.agent;
      const pool = { keepAlive: true, keepAliveMsecs: TCP_KEEP_ALIVE_MS, maxSockets, scheduling: 'lifo' as const };
      return secure ? new https.Agent({ ...pool, ...verification, secureContext }) : new http.Agent(pool);
    };
    const old = newAgents ? undefined : this.#target;
    return {
      secure,
      options: {
        protocol: url.protocol,
        hostname: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port || (secure ? 443 : 80),
        ...(options.auth === undefined ? {} : { auth: options.auth }),
      },
      basePath: url.pathname.replace(/\/$/, ''),
      headers,
      requestAgent: old?.requestAgent ?? agent(this.#maxSockets),
      streamAgent: old?.streamAgent ?? agent(Number.POSITIVE_INFINITY),
    };
  }
}

/** The library sends a token file's trailing newline, which Node refuses in a header. */
function cleanHeaders(options: https.RequestOptions): http.OutgoingHttpHeaders {
  const headers: http.OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    headers[name] = typeof value === 'string' ? value.trim() : value;
  }
  return headers;
}
