import type { Duplex } from 'node:stream';
import type { Container } from '../../model/pod.ts';
import { errorMessage } from '../../util/errors.ts';
import { goQuote } from '../../util/go-quote.ts';
import { type Attempt, errored, failure, isAway, SUCCESS } from './attempt.ts';
import type { Deadline } from './deadline.ts';
import { type Dialer, dialErrorText, isOfTarget, joinHostPort } from './dialing.ts';
import { followLocation, type GoUrl, probeUrl, requestTarget, urlText } from './go-url.ts';
import { type GoHeaders, headerFault, probeHeaders, wireHeaders } from './headers.ts';
import { connectionErrorText } from './http-errors.ts';
import { type Body, exchange, readBody, startTls } from './http-exchange.ts';
import { resolvePort } from './ports.ts';

export type HttpGet = NonNullable<NonNullable<Container['livenessProbe']>['httpGet']>;

const FOLLOWED: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 10;

export interface HttpTarget {
  readonly dialer: Dialer;
  readonly container: Container;
  readonly podIP: string;
  readonly userAgent: string;
  /** Which client of the kubelet asks: they differ in a few headers. */
  readonly asks?: 'probe' | 'hook';
}

/** One request as Go's client would make it: Host is that of the URL unless the probe names another. */
interface Hop {
  readonly url: GoUrl;
  readonly host: string;
  readonly headers: GoHeaders;
}

interface Answer extends Body {
  /** That answered. */
  readonly port: number;
  readonly status: number;
  readonly location: string;
}

/** When to give up. */
type Limits = Pick<Deadline, 'signal' | 'expired'>;

/** The text of Go's url.Error. */
export class GetError extends Error {
  override readonly name = 'GetError';
  constructor(url: string, text: string) {
    super(`Get ${goQuote(url)}: ${text}`);
  }
}

/** GET with the kubelet's rules for redirects, headers and texts (reference 4.5; kubelet: pkg/probe/http). */
export async function probeHttp(get: HttpGet, target: HttpTarget, deadline: Deadline): Promise<Attempt> {
  try {
    return judge(await followRedirects(get, target, deadline), deadline);
  } catch (error: unknown) {
    if (isAway(error)) return { type: 'away', error };
    return error instanceof GetError ? failure(error.message) : errored(errorMessage(error));
  }
}

/** The last answer to one GET, as the probes and hooks of the kubelet ask. Rejects with GetError where the target is to blame. */
export async function followRedirects(get: HttpGet, target: HttpTarget, limits: Limits): Promise<Answer> {
  const port = resolvePort(get.port, target.container);
  if (typeof port !== 'number') throw new Error(port.error);
  const scheme = (get.scheme ?? 'HTTP').toLowerCase();
  const host = get.host ? get.host : target.podIP;
  const headers = probeHeaders(get.httpHeaders ?? [], target.userAgent);
  const url = probeUrl(scheme, host, port, get.path ?? '');
  return follow({ url, host: headers.get('Host')?.[0] ?? '', headers }, get, target, limits);
}

function judge({ status, text, error }: Answer, deadline: Deadline): Attempt {
  if (error !== undefined) {
    // The kubelet throws such a result away, and says so.
    const late = 'context deadline exceeded (Client.Timeout or context cancellation while reading body)';
    return errored(deadline.expired ? late : errorMessage(error), 'failure');
  }
  if (status < 200 || status >= 400) return failure(`HTTP probe failed with statuscode: ${status}`);
  if (status < 300) return SUCCESS;
  return { type: 'warning', output: `Probe terminated redirects, Response body: ${text}` };
}

/** Redirects to the same host, up to ten requests; the answer that redirects elsewhere is the last one. */
async function follow(first: Hop, get: HttpGet, target: HttpTarget, deadline: Limits): Promise<Answer> {
  let hop = first;
  for (let requests = 1; ; requests++) {
    const answer = await send(hop, get, target, deadline);
    if (!FOLLOWED.has(answer.status) || answer.location === '') return answer;
    const url = followLocation(hop.url, answer.location);
    if (url === undefined) {
      throw new GetError(urlText(hop.url), `failed to parse Location header ${goQuote(answer.location)}`);
    }
    if (url.host !== first.url.host) return answer;
    if (requests >= MAX_REDIRECTS) throw new GetError(answer.location, 'stopped after 10 redirects');
    // A Host of the probe's own survives a relative redirect only.
    const host = /^[a-z][a-z0-9+.-]*:/i.test(answer.location) ? '' : hop.host;
    hop = { url, host, headers: withReferer(first.headers, hop.url, url) };
  }
}

/** As a browser would (Go: refererForURL); not from HTTPS to HTTP, and not instead of the probe's own. */
function withReferer(headers: GoHeaders, from: GoUrl, to: GoUrl): GoHeaders {
  if (headers.has('Referer') || (from.scheme === 'https' && to.scheme === 'http')) return headers;
  return new Map([...headers, ['Referer', [urlText(from)]]]);
}

async function send(hop: Hop, get: HttpGet, target: HttpTarget, deadline: Limits): Promise<Answer> {
  const { url, headers } = hop;
  const { signal } = deadline;
  const hostHeader = hop.host === '' ? url.authority : hop.host;
  const fault = url.scheme === 'http' || url.scheme === 'https' ? headerFault(headers, hostHeader) : unsupported(url);
  if (fault !== undefined) throw new GetError(urlText(url), fault);
  const stream = await open(url, get, target, deadline);
  let secure: Duplex | undefined;
  try {
    if (url.scheme === 'https') secure = await startTls(stream, url.host, { signal });
    const response = await exchange(
      secure ?? stream,
      requestTarget(url),
      wireHeaders(headers, hostHeader, target.asks),
      { signal },
    );
    const body = await readBody(response, { signal });
    if (body.error !== undefined && isAway(stream.errored)) throw stream.errored;
    return { port: url.port, status: response.statusCode ?? 0, location: response.headers.location ?? '', ...body };
  } catch (error: unknown) {
    // What broke the way says more than what HTTP makes of it.
    if (isAway(stream.errored)) throw stream.errored;
    const address = joinHostPort(url.host, url.port);
    throw new GetError(urlText(url), deadline.expired ? TOO_LATE : connectionErrorText(error, address));
  } finally {
    secure?.destroy();
    stream.destroy();
  }
}

const TOO_LATE = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';

async function open(url: GoUrl, { host }: HttpGet, { dialer }: HttpTarget, deadline: Limits): Promise<Duplex> {
  try {
    return await dialer.open({ host: url.host, toHost: Boolean(host) }, url.port, deadline.signal);
  } catch (error: unknown) {
    if (isAway(error)) throw error;
    if (deadline.expired) throw new GetError(urlText(url), TOO_LATE);
    throw isOfTarget(error) ? new GetError(urlText(url), dialErrorText(url.host, url.port, error)) : error;
  }
}

function unsupported({ scheme }: GoUrl): string {
  return `unsupported protocol scheme ${goQuote(scheme)}`;
}
