import type { Duplex } from 'node:stream';
import type { Container } from '../../model/pod.ts';
import { errorMessage } from '../../util/errors.ts';
import { goQuote } from '../../util/go-quote.ts';
import { type Attempt, errored, failure, isAway, SUCCESS } from './attempt.ts';
import type { Deadline } from './deadline.ts';
import { type Dialer, dialErrorText, joinHostPort } from './dialing.ts';
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
}

/** One request as Go's client would make it: Host is that of the URL unless the probe names another. */
interface Hop {
  readonly url: GoUrl;
  readonly host: string;
  readonly headers: GoHeaders;
}

interface Answer extends Body {
  readonly status: number;
  readonly location: string;
}

/** The text of Go's url.Error. */
class GetError extends Error {
  override readonly name = 'GetError';
  constructor(url: string, text: string) {
    super(`Get ${goQuote(url)}: ${text}`);
  }
}

/** GET with the kubelet's rules for redirects, headers and texts (reference 4.5; kubelet: pkg/probe/http). */
export async function probeHttp(get: HttpGet, target: HttpTarget, deadline: Deadline): Promise<Attempt> {
  const port = resolvePort(get.port, target.container);
  if (typeof port !== 'number') return errored(port.error);
  const scheme = (get.scheme ?? 'HTTP').toLowerCase();
  const host = get.host ? get.host : target.podIP;
  const headers = probeHeaders(get.httpHeaders ?? [], target.userAgent);
  const url = probeUrl(scheme, host, port, get.path ?? '');
  try {
    return judge(await follow({ url, host: headers.get('Host')?.[0] ?? '', headers }, get, target, deadline), deadline);
  } catch (error: unknown) {
    if (isAway(error)) return { type: 'away', error };
    return error instanceof GetError ? failure(error.message) : errored(errorMessage(error));
  }
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
async function follow(first: Hop, get: HttpGet, target: HttpTarget, deadline: Deadline): Promise<Answer> {
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

async function send(hop: Hop, { host }: HttpGet, target: HttpTarget, deadline: Deadline): Promise<Answer> {
  const { url, headers } = hop;
  const fail = (text: string): GetError => new GetError(urlText(url), text);
  if (url.scheme !== 'http' && url.scheme !== 'https') throw fail(`unsupported protocol scheme ${goQuote(url.scheme)}`);
  const hostHeader = hop.host === '' ? url.authority : hop.host;
  const fault = headerFault(headers, hostHeader);
  if (fault !== undefined) throw fail(fault);
  const { signal } = deadline;
  const tooLate = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
  const endpoint = { host: url.host, toHost: Boolean(host) };
  let stream: Duplex | undefined;
  let secure: Duplex | undefined;
  try {
    stream = await target.dialer.open(endpoint, url.port, signal).catch((error: unknown) => {
      if (isAway(error) || deadline.expired) throw error;
      throw fail(dialErrorText(url.host, url.port, error));
    });
    if (url.scheme === 'https') secure = await startTls(stream, url.host, { signal });
    const response = await exchange(secure ?? stream, requestTarget(url), wireHeaders(headers, hostHeader), { signal });
    const { statusCode: status = 0, headers: got } = response;
    const body = await readBody(response, { signal });
    if (body.error !== undefined && isAway(stream.errored)) throw stream.errored;
    return { status, location: got.location ?? '', ...body };
  } catch (error: unknown) {
    if (isAway(stream?.errored)) throw stream.errored;
    if (isAway(error) || error instanceof GetError) throw error;
    throw fail(deadline.expired ? tooLate : connectionErrorText(error, joinHostPort(url.host, url.port)));
  } finally {
    secure?.destroy();
    stream?.destroy();
  }
}
