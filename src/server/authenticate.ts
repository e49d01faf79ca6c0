import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../util/clock.ts';
import { type Bearer, headerToken, protocolToken } from './bearer.ts';

export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Undefined: nobody's token. Rejects when the API server cannot be asked. */
type ReviewToken = (token: string, options: { readonly signal: AbortSignal }) => Promise<User | undefined>;

export interface Authenticators {
  readonly clock: Pick<Clock, 'now'>;
  /** Whether there is an authority to judge client certificates by; without one they say nothing. Default true. */
  readonly certificates?: boolean;
  /** Absent: tokens are not looked at (`authentication.webhook.enabled: false`). */
  readonly reviewToken?: ReviewToken;
  /** Whether a request without credentials is that of `system:anonymous` (`authentication.anonymous.enabled`). Default false. */
  readonly anonymous?: boolean;
}

export type Authentication =
  | { readonly type: 'user'; readonly user: User }
  /** `cause`: a credential that could not be judged, for the log; never the credential itself. */
  | { readonly type: 'unknown'; readonly cause?: unknown };

const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
const AUTHENTICATED = 'system:authenticated';

/**
 * Certificate, token, token in a subprotocol: the first that names somebody counts. Whoever presents only credentials that do
 * not hold is not taken for anonymous, so that a client with an outdated token notices.
 */
export async function authenticate(
  request: IncomingMessage,
  { clock, certificates = true, reviewToken, anonymous = false }: Authenticators,
  { signal }: { readonly signal: AbortSignal },
): Promise<Authentication> {
  const certificate = certificates ? certificateUser(request.socket, clock.now()) : NO_CERTIFICATE;
  if (certificate.type === 'user') return { type: 'user', user: authenticated(certificate.user) };
  let presented = certificate.type === 'refused';
  let cause: unknown;
  const bearers: readonly Bearer[] = reviewToken === undefined ? [] : [headerToken(request), protocolToken(request)];
  for (const bearer of bearers) {
    if (bearer.type === 'none') continue;
    presented = true;
    if (bearer.type === 'broken') continue;
    try {
      const user = await reviewToken?.(bearer.token, { signal });
      if (user !== undefined) return { type: 'user', user: authenticated(user) };
    } catch (error) {
      cause = error;
    }
  }
  if (!presented && anonymous) return { type: 'user', user: ANONYMOUS };
  return cause === undefined ? { type: 'unknown' } : { type: 'unknown', cause };
}

type CertificateUser = { readonly type: 'none' | 'refused' } | { readonly type: 'user'; readonly user: User };

const NO_CERTIFICATE: CertificateUser = { type: 'none' };

/**
 * The user of a verified client certificate: CN is the name, O the groups. A connection may count as authorized without
 * presenting a certificate (a resumed TLS session), so the certificate itself has to be there too. It was verified when the
 * connection began, and may have run out since.
 */
function certificateUser(socket: unknown, nowMs: number): CertificateUser {
  if (!(socket instanceof TLSSocket)) return { type: 'none' };
  const certificate = socket.getPeerCertificate();
  // Node gives an empty object when there is none, and an array where a name occurs more than once.
  const subject: Partial<Record<string, string | string[]>> | undefined = certificate.subject;
  if (subject === undefined) return { type: 'none' };
  if (!socket.authorized || nowMs > Date.parse(certificate.valid_to)) return { type: 'refused' };
  const name = list(subject['CN']).at(-1);
  if (name === undefined || name === '') return { type: 'none' };
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  const extra = { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${fingerprint}`] };
  return { type: 'user', user: { name, groups: list(subject['O']), extra } };
}

/** As the API server does to every user that it knows. */
function authenticated(user: User): User {
  if (user.name === ANONYMOUS.name) return user;
  if (user.groups.includes(AUTHENTICATED) || user.groups.includes('system:unauthenticated')) return user;
  return { ...user, groups: [...user.groups, AUTHENTICATED] };
}

function list(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
