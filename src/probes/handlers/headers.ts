import type { Container } from '../../model/pod.ts';
import { goQuote } from '../../util/go-quote.ts';

export type HttpHeader = NonNullable<
  NonNullable<NonNullable<Container['livenessProbe']>['httpGet']>['httpHeaders']
>[number];

/** Go's http.Header: values by canonical name. */
export type GoHeaders = ReadonlyMap<string, readonly string[]>;

/** As the probe gives them, with the defaults of the kubelet (reference 4.5): an empty Accept means none. */
export function probeHeaders(given: readonly HttpHeader[], userAgent: string): GoHeaders {
  const headers = new Map<string, string[]>();
  for (const { name, value = '' } of given) {
    const key = canonicalName(name);
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  if (!headers.has('User-Agent')) headers.set('User-Agent', [userAgent]);
  if (!headers.has('Accept')) headers.set('Accept', ['*/*']);
  else if (headers.get('Accept')?.[0] === '') headers.delete('Accept');
  return headers;
}

/** Go keeps these for itself (net/http reqWriteExcludeHeader). */
const OWN = new Set(['Host', 'User-Agent', 'Content-Length', 'Transfer-Encoding', 'Trailer']);

/**
 * Names and values in the order in which Go writes them, for node:http. Bytes beyond ASCII go out as UTF-8, which Node takes only
 * in this disguise. A probe wants its connection closed; the client of hooks keeps its own, and would take a compressed answer.
 */
export function wireHeaders(headers: GoHeaders, host: string, asks: 'probe' | 'hook' = 'probe'): readonly string[] {
  const lines = [['Host', host]];
  const userAgent = headers.get('User-Agent')?.[0] ?? '';
  if (userAgent !== '') lines.push(['User-Agent', userAgent]);
  for (const [name, values] of [...headers].sort(([a], [b]) => (a < b ? -1 : 1)))
    if (!OWN.has(name)) for (const value of values) lines.push([name, value]);
  if (asks === 'probe') lines.push(['Connection', 'close']);
  else if (!headers.has('Accept-Encoding') && !headers.has('Range')) lines.push(['Accept-Encoding', 'gzip']);
  return lines.flat().map((text) => Buffer.from(text.trim(), 'utf8').toString('latin1'));
}

/** Why these cannot be sent, in the words of Go's transport. */
export function headerFault(headers: GoHeaders, host: string): string | undefined {
  for (const [name, values] of headers) {
    if (!isToken(name)) return `net/http: invalid header field name ${goQuote(name)}`;
    if (values.some(hasControls)) return `net/http: invalid header field value for ${goQuote(name)}`;
  }
  return hasControls(host) || host.includes(' ') ? 'http: invalid Host header' : undefined;
}

/** `x-my-key` becomes `X-My-Key`; a name that is no token stays as it is (Go: textproto.CanonicalMIMEHeaderKey). */
function canonicalName(name: string): string {
  if (!isToken(name)) return name;
  return name.toLowerCase().replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

function isToken(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name);
}

function hasControls(value: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for; a tab is allowed
  return /[\x00-\x08\x0a-\x1f\x7f]/.test(value);
}
