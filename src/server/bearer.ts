import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';

const PROTOCOL_HEADER = 'sec-websocket-protocol';
const PROTOCOL_PREFIX = 'base64url.bearer.authorization.k8s.io.';

/** A token that a request carries; `broken` says why what looks like one is none, which is as good as a wrong one. */
export type Bearer =
  | { readonly type: 'none' }
  | { readonly type: 'token'; readonly token: string }
  | { readonly type: 'broken'; readonly message: string };

/** `Authorization: Bearer <token>` */
export function headerToken({ headers }: Pick<IncomingMessage, 'headers'>): Bearer {
  const [scheme = '', token = ''] = (headers.authorization ?? '').trim().split(' ', 2);
  return scheme.toLowerCase() === 'bearer' && token !== '' ? { type: 'token', token } : { type: 'none' };
}

/** Browsers cannot set headers of a WebSocket: there the token comes as one subprotocol beside another one (reference 11.12). */
export function protocolToken(request: Pick<IncomingMessage, 'headers'>): Bearer {
  if (!isWebSocket(request)) return { type: 'none' };
  const protocols = splitList(request.headers[PROTOCOL_HEADER]);
  const tokens = protocols.filter((protocol) => protocol.startsWith(PROTOCOL_PREFIX));
  if (tokens.length > 1) return { type: 'broken', message: 'multiple base64.bearer.authorization tokens specified' };
  const encoded = tokens[0]?.slice(PROTOCOL_PREFIX.length);
  if (encoded === undefined) return { type: 'none' };
  // Without padding and nothing else: Buffer would skip over what it does not know.
  if (!/^[\w-]*$/.test(encoded) || encoded.length % 4 === 1) {
    return { type: 'broken', message: 'invalid base64.bearer.authorization token encoding' };
  }
  const bytes = Buffer.from(encoded, 'base64url');
  if (!isUtf8(bytes)) return { type: 'broken', message: 'invalid base64.bearer.authorization token' };
  if (bytes.length === 0) return { type: 'none' };
  // One must be left to agree on, since that of the token is never echoed.
  if (protocols.length === 1) return { type: 'broken', message: 'missing additional subprotocol' };
  return { type: 'token', token: bytes.toString('utf8') };
}

/** Nobody behind the door is to see, log or echo a token that has done its work. */
export function removeTokens({ headers }: Pick<IncomingMessage, 'headers'>): void {
  delete headers.authorization;
  const protocols = splitList(headers[PROTOCOL_HEADER]);
  const rest = protocols.filter((protocol) => !protocol.startsWith(PROTOCOL_PREFIX));
  if (rest.length === protocols.length) return;
  if (rest.length === 0) delete headers[PROTOCOL_HEADER];
  else headers[PROTOCOL_HEADER] = rest.join(', ');
}

function isWebSocket({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const connection = splitList(headers.connection?.toLowerCase());
  return headers.upgrade?.toLowerCase() === 'websocket' && connection.includes('upgrade');
}

/** Node joins repeated headers with a comma, which means the same. */
function splitList(value: string | string[] | undefined): readonly string[] {
  const text = typeof value === 'string' ? value : (value ?? []).join(',');
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
