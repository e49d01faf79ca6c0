import http from 'node:http';
import https from 'node:https';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { Connection, type Credentials, type Target } from './connection.ts';
import { ApiUnreachable, KubeError, parseStatusBody } from './errors.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Query;
  readonly body?: unknown;
  /** Of the body; `application/json` unless it is a patch. */
  readonly contentType?: string;
  /** From the call to the last byte of the answer. */
  readonly timeoutMs?: number;
  readonly signal: AbortSignal;
}

export interface StreamCall {
  readonly path: string;
  readonly query?: Query;
  /** The socket is destroyed after this time without a byte: a half-open connection is silent forever otherwise. */
  readonly idleTimeoutMs: number;
  /** Called for every chunk, and when the answer begins. */
  readonly onBytes?: () => void;
  readonly signal: AbortSignal;
}

export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';

const DEFAULT_TIMEOUT_MS = 30_000;
/** An API server asks for seconds; a proxy in between that asks for a day must not park the node. */
const MAX_RETRY_AFTER_MS = 60_000;
/** A page of 500 objects; more is not an answer of an API server. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** etcd holds at most 1.5 MiB per object; JSON escapes and the managed fields come on top. */
const MAX_LINE_CHARS = 32 * 1024 * 1024;

/** What the other files of this folder need of the client. */
export type Requester = Pick<ApiClient, 'request'>;

export interface ApiClientOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly userAgent?: string;
  readonly maxSockets?: number;
  readonly metrics?: { requested(method: string, host: string, code: number | '<error>', seconds: number): void };
}

/** JSON in, JSON out. The typed API classes are not used: they drop fields that they do not know (convention 15). */
export class ApiClient {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #userAgent: string;
  readonly #metrics: ApiClientOptions['metrics'];

  constructor({ credentials, clock, userAgent = 'outrigger', maxSockets = 24, metrics }: ApiClientOptions) {
    this.#metrics = metrics;
    this.#connection = new Connection(credentials, clock, maxSockets);
    this.#clock = clock;
    this.#userAgent = userAgent;
  }

  /** Rejects with KubeError (the server said no), ApiUnreachable (no answer) or the signal's reason. */
  async request<T>(call: ApiCall): Promise<T> {
    for (let first = true; ; first = false) {
      call.signal.throwIfAborted();
      const target = await this.#connection.target();
      try {
        // The edge: what the API server sends is trusted to be of the kind that the path names.
        return (await this.#once(call, target)) as T;
      } catch (error) {
        const again = first && ((isStale(error) && call.method !== 'POST') || (await this.#refused(error, target)));
        if (!again) throw error;
      }
    }
  }

  /** The lines of a watch, without their newline. Ends when the server ends it; a last line that was cut is not given out. */
  async *stream(call: StreamCall): AsyncGenerator<string, void, void> {
    call.signal.throwIfAborted();
    const target = await this.#connection.target();
    const watchdog = new Watchdog(this.#clock, call.idleTimeoutMs);
    let response: http.IncomingMessage | undefined;
    try {
      response = await this.#open({ ...call, method: 'GET' }, target, target.streamAgent, watchdog);
      call.onBytes?.();
      response.setEncoding('utf8');
      let rest = '';
      // The iterator reads no further than its consumer: backpressure reaches the server's socket.
      for await (const chunk of response as AsyncIterable<string>) {
        watchdog.feed();
        call.onBytes?.();
        let from = 0;
        for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', from)) {
          const line = rest + chunk.slice(from, end);
          rest = '';
          from = end + 1;
          if (line !== '') yield line;
        }
        rest += chunk.slice(from);
        if (rest.length > MAX_LINE_CHARS) throw new ApiUnreachable('a line of a watch has no end');
      }
      // A destroyed answer can also end the iteration without an error.
      call.signal.throwIfAborted();
    } catch (error) {
      call.signal.throwIfAborted();
      throw error instanceof KubeError ? error : unreachable(error);
    } finally {
      watchdog[Symbol.dispose]();
      response?.destroy();
    }
  }

  close(): void {
    this.#connection.close();
  }

  async #refused(error: unknown, target: Target): Promise<boolean> {
    return error instanceof KubeError && error.status === 401 && (await this.#connection.renewed(target));
  }

  async #once(call: ApiCall, target: Target): Promise<unknown> {
    using watchdog = new Watchdog(this.#clock, call.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const response = await this.#open(call, target, target.requestAgent, watchdog);
    const text = await readText(response, call.signal);
    try {
      return text === '' ? undefined : JSON.parse(text);
    } catch (error) {
      throw new ApiUnreachable(`${call.method} ${call.path}: the answer is not JSON`, { cause: error });
    }
  }

  /** Sends the request and waits for the head of the answer; the body of an error is read and becomes the KubeError. */
  async #open(call: ApiCall, target: Target, agent: http.Agent, watchdog: Watchdog): Promise<http.IncomingMessage> {
    // Aborted while the credentials were read: a listener would not be told any more.
    call.signal.throwIfAborted();
    const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
    const options: https.RequestOptions = {
      ...target.options,
      agent,
      method: call.method,
      path: target.basePath + call.path + queryString(call.query),
      headers: {
        ...target.headers,
        accept: 'application/json',
        'user-agent': this.#userAgent,
        ...(body === undefined
          ? {}
          : { 'content-type': call.contentType ?? 'application/json', 'content-length': body.length }),
      },
    };
    const startMs = this.#clock.now();
    const tell = (code: number | '<error>'): void =>
      this.#metrics?.requested(
        call.method,
        String(target.options.hostname),
        code,
        (this.#clock.now() - startMs) / 1000,
      );
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      const request = target.secure ? https.request(options) : http.request(options);
      const onAbort = (): void => {
        request.destroy();
        reject(call.signal.reason);
      };
      watchdog.onBark = () => {
        this.#connection.dropIdleSockets();
        request.destroy(silence(call, watchdog.ms));
      };
      call.signal.addEventListener('abort', onAbort, { once: true });
      request.once('response', (answer) => {
        // From here on the signal destroys the answer instead (an unread answer would keep its socket).
        call.signal.removeEventListener('abort', onAbort);
        tell(answer.statusCode ?? 0);
        followSignal(answer, call.signal);
        watchdog.onBark = () => {
          this.#connection.dropIdleSockets();
          answer.destroy(silence(call, watchdog.ms));
        };
        resolve(answer);
      });
      request.once('error', (error) => {
        call.signal.removeEventListener('abort', onAbort);
        if (!call.signal.aborted) tell('<error>');
        reject(unreachable(error, request.reusedSocket && hasCode(error, 'ECONNRESET', 'EPIPE')));
      });
      request.end(body);
    });
    const status = response.statusCode ?? 0;
    if (status >= 200 && status < 300) return response;
    const text = await readText(response, call.signal);
    throw new KubeError(
      status,
      parseStatusBody(text),
      `${call.method} ${call.path}: HTTP ${status}`,
      retryAfterMs(response.headers['retry-after']),
    );
  }
}

function isStale(error: unknown): boolean {
  return error instanceof ApiUnreachable && error.stale;
}

/** One timer per call; `feed` only notes the time, the timer looks at it when it fires. */
class Watchdog implements Disposable {
  readonly ms: number;
  onBark: () => void = () => {};
  readonly #clock: Clock;
  #fedAt: number;
  #cancel: () => void;

  constructor(clock: Clock, ms: number) {
    this.#clock = clock;
    this.ms = ms;
    this.#fedAt = clock.now();
    this.#cancel = clock.timer(ms, () => this.#look());
  }

  feed(): void {
    this.#fedAt = this.#clock.now();
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }

  #look(): void {
    const left = this.#fedAt + this.ms - this.#clock.now();
    if (left <= 0) this.onBark();
    else this.#cancel = this.#clock.timer(left, () => this.#look());
  }
}

function followSignal(answer: http.IncomingMessage, signal: AbortSignal): void {
  const onAbort = (): void => {
    answer.destroy();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  answer.once('close', () => signal.removeEventListener('abort', onAbort));
}

async function readText(response: http.IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) throw new ApiUnreachable('the answer is too large');
    }
  } catch (error) {
    signal.throwIfAborted();
    throw unreachable(error);
  }
  signal.throwIfAborted();
  return (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)).toString('utf8');
}

function unreachable(error: unknown, stale = false): ApiUnreachable {
  return error instanceof ApiUnreachable ? error : new ApiUnreachable(errorMessage(error), { cause: error, stale });
}

function silence(call: ApiCall, ms: number): ApiUnreachable {
  return new ApiUnreachable(`${call.method} ${call.path}: no answer within ${ms / 1000} s`);
}

function hasCode(error: unknown, ...codes: readonly unknown[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(error.code);
}

function queryString(query: Query | undefined): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) if (value !== undefined) parameters.set(key, String(value));
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

function retryAfterMs(header: string | undefined): number | undefined {
  const seconds = Number(header);
  if (header === undefined || !Number.isFinite(seconds) || seconds < 0) return undefined;
  return Math.min(seconds * 1000, MAX_RETRY_AFTER_MS);
}
