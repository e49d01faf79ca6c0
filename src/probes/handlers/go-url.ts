import { joinHostPort } from './dialing.ts';

/** The parts of a URL as Go keeps and prints them; WHATWG's URL would drop default ports and change the escaping. */
export interface GoUrl {
  readonly scheme: string;
  /** Without brackets. */
  readonly host: string;
  /** As written, the default of the scheme otherwise. */
  readonly port: number;
  /** Host and port as they stand in the URL. */
  readonly authority: string;
  /** Escaped; empty or with a leading slash. */
  readonly path: string;
  /** With its question mark, unless empty. */
  readonly query: string;
  /** With its number sign, unless empty. Shown, never sent. */
  readonly fragment: string;
}

/** What httpGet asks for (kubelet: probe/http formatURL): a path that is no URL is taken as it is and escaped. */
export function probeUrl(scheme: string, host: string, port: number, path: string): GoUrl {
  const where = { scheme, host, port, authority: joinHostPort(host, port) };
  // A host in the path is parsed and then replaced.
  const own = path.replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\/[^/?#]*/i, '');
  return { ...where, ...(parseReference(own) ?? { path: rooted(escapePath(path)), query: '', fragment: '' }) };
}

export function urlText({ scheme, authority, path, query, fragment }: GoUrl): string {
  return `${scheme}://${authority}${path}${query}${fragment}`;
}

/** What stands in the first line of a request. Node refuses a blank there that Go would send. */
export function requestTarget({ path, query }: GoUrl): string {
  return Buffer.from(`${path === '' ? '/' : path}${query}`.replaceAll(' ', '%20'), 'utf8').toString('latin1');
}

/** Where a redirect leads; undefined if it is no URL. */
export function followLocation(from: GoUrl, location: string): GoUrl | undefined {
  const absolute = /^([a-z][a-z0-9+.-]*:)?\/\/([^/?#]*)(.*)$/is.exec(location);
  if (absolute !== null) {
    const [, scheme = `${from.scheme}:`, authority = '', rest = ''] = absolute;
    const where = splitAuthority(scheme.slice(0, -1).toLowerCase(), authority);
    const reference = rest.startsWith('/') || rest === '' ? parseReference(rest) : parseReference(`/${rest}`);
    return where && reference && { ...where, ...reference };
  }
  if (hasControls(location) || !URL.canParse(location, urlText(from))) return undefined;
  const { protocol, pathname, search, hash } = new URL(location, urlText(from));
  if (protocol !== `${from.scheme}:`) return { ...from, scheme: protocol.slice(0, -1), authority: '', host: '' };
  return { ...from, path: pathname, query: search, fragment: hash };
}

function splitAuthority(
  scheme: string,
  text: string,
): Pick<GoUrl, 'scheme' | 'host' | 'port' | 'authority'> | undefined {
  const authority = text.slice(text.lastIndexOf('@') + 1);
  const parts = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/.exec(authority);
  if (parts === null) return undefined;
  const port = parts[3] ? Number(parts[3]) : scheme === 'https' ? 443 : 80;
  return { scheme, host: parts[1] ?? parts[2] ?? '', port, authority };
}

/** Path, query and fragment of a reference without scheme; undefined where Go's url.Parse gives an error. */
function parseReference(text: string): Pick<GoUrl, 'path' | 'query' | 'fragment'> | undefined {
  if (hasControls(text)) return undefined;
  const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(text) ?? [];
  if (hasBadEscape(path) || hasBadEscape(fragment)) return undefined;
  const escaped = KEPT_PATH.test(path) ? path : escapePath(decodeLoosely(path));
  return { path: rooted(escaped), query: query === '?' ? '' : query, fragment };
}

/** Go keeps the writer's own escaping when it is a valid one (URL.EscapedPath). */
const KEPT_PATH = /^[A-Za-z0-9\-_.~!$&'()*+,;=:@[\]/%]*$/;

function rooted(path: string): string {
  return path === '' || path.startsWith('/') ? path : `/${path}`;
}

function escapePath(text: string): string {
  return [...Buffer.from(text, 'utf8')].map((byte) => escapeByte(byte)).join('');
}

function escapeByte(byte: number): string {
  const char = String.fromCharCode(byte);
  return /[A-Za-z0-9\-_.~$&+,/:;=@]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}

function decodeLoosely(path: string): string {
  return Buffer.from(
    Buffer.from(path, 'utf8')
      .toString('latin1')
      .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8');
}

function hasBadEscape(text: string): boolean {
  return /%(?![0-9a-f]{2})/i.test(text);
}

function hasControls(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  return /[\x00-\x1f\x7f]/.test(text);
}
