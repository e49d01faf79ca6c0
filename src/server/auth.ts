import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
}

/** What a SubjectAccessReview asks: may this user do `verb` on `nodes/<subresource>` of this node (reference 11.12). */
export interface AccessAttributes {
  readonly verb: string;
  readonly subresource: string;
}

export type Authorize = (
  user: User,
  attributes: AccessAttributes,
  options: { readonly signal: AbortSignal },
) => Promise<boolean>;

export type Access =
  | { readonly type: 'granted'; readonly user: User }
  | { readonly type: 'refused'; readonly code: 401 | 403 | 500; readonly body: string; readonly cause?: unknown };

/**
 * Who asks, and whether that is allowed. Plain requests and protocol upgrades both go through here, before anything else about
 * the request is looked at (reference 11.3, 11.12).
 */
export async function checkAccess(
  request: IncomingMessage,
  authorize: Authorize,
  options: { readonly signal: AbortSignal },
): Promise<Access> {
  const user = certificateUser(request.socket);
  if (user === undefined) return { type: 'refused', code: 401, body: 'Unauthorized' };
  const attributes = accessAttributes(request.method ?? '', pathOf(request));
  const who = (verb: string): string => `user=${user.name}, verb=${verb}, resource=nodes`;
  for (const attribute of attributes) {
    try {
      if (await authorize(user, attribute, options)) return { type: 'granted', user };
    } catch (cause) {
      const body = `Authorization error (${who(attribute.verb)}, subresource=${attribute.subresource})`;
      return { type: 'refused', code: 500, body, cause };
    }
  }
  const subresources = attributes.map(({ subresource }) => subresource).join(' ');
  const body = `Forbidden (${who(attributes[0]?.verb ?? '')}, subresource(s)=[${subresources}])\n`;
  return { type: 'refused', code: 403, body };
}

/**
 * The user of a verified client certificate: CN is the name, O the groups. A connection may count as authorized without
 * presenting a certificate (a resumed TLS session), so the certificate itself has to be there too.
 */
function certificateUser(socket: unknown): User | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  // Node gives an empty object when there is none, and an array where a name occurs more than once.
  const subject: Partial<Record<'CN' | 'O', string | string[]>> = socket.getPeerCertificate().subject ?? {};
  const name = list(subject.CN).at(-1);
  return name === undefined || name === '' ? undefined : { name, groups: list(subject.O) };
}

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Tried in order; the first that is allowed lets the request in. */
const SUBRESOURCES: readonly (readonly [path: string, subresources: readonly string[]])[] = [
  ['/pods', ['pods', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
  ['/healthz', ['healthz', 'proxy']],
  ['/configz', ['configz', 'proxy']],
  ['/stats', ['stats']],
  ['/metrics', ['metrics']],
  ['/logs', ['log']],
  ['/checkpoint', ['checkpoint']],
  ['/statusz', ['statusz']],
  ['/flagz', ['configz']],
];

function accessAttributes(method: string, path: string): readonly AccessAttributes[] {
  const found = SUBRESOURCES.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`));
  return (found?.[1] ?? ['proxy']).map((subresource) => ({ verb: VERBS[method] ?? '', subresource }));
}

function list(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

/** Decoded, as the routes see it: `/%70ods` must not be judged as another path than `/pods`. */
function pathOf({ url = '' }: IncomingMessage): string {
  const path = url.split('?', 1)[0] ?? '';
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // malformed: no route takes it, Express answers 400
  }
}
