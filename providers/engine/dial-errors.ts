import { ProviderError, type ProviderErrorCode } from '../contract/index.ts';

/** How Go's net package says it, without the address: probe events and port-forward texts are read by people who know those words. */
const WORDS: Readonly<Record<string, readonly [ProviderErrorCode, string]>> = {
  ECONNREFUSED: ['ConnectionRefused', 'connect: connection refused'],
  // The target's side took the connection back while it was being made.
  ECONNRESET: ['ConnectionRefused', 'connect: connection reset by peer'],
  EPIPE: ['ConnectionRefused', 'write: broken pipe'],
  EHOSTUNREACH: ['Unreachable', 'connect: no route to host'],
  EHOSTDOWN: ['Unreachable', 'connect: host is down'],
  ENETUNREACH: ['Unreachable', 'connect: network is unreachable'],
  ENETDOWN: ['Unreachable', 'connect: network is down'],
  ETIMEDOUT: ['Unreachable', 'connect: connection timed out'],
  EADDRNOTAVAIL: ['Unreachable', 'connect: cannot assign requested address'],
  EACCES: ['Unreachable', 'connect: permission denied'],
  EPERM: ['Unreachable', 'connect: operation not permitted'],
  EINVAL: ['Unreachable', 'connect: invalid argument'],
};

/** getaddrinfo's ways to say that there is no such name, or that nobody could be asked. */
const LOOKUP: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such host',
  ENODATA: 'no such host',
  EAI_AGAIN: 'server misbehaving',
  EAI_FAIL: 'server misbehaving',
};

/** What a failed connect means. An errno that says nothing about the target (no descriptors left) is our own failure. */
export function dialError(error: unknown, host: string): ProviderError {
  if (error instanceof ProviderError) return error;
  const code = errnoOf(error);
  const lookup = code === undefined ? undefined : LOOKUP[code];
  if (lookup !== undefined) return new ProviderError('Unreachable', `lookup ${host}: ${lookup}`, { cause: error });
  const known = code === undefined ? undefined : WORDS[code];
  if (known !== undefined) return new ProviderError(known[0], known[1], { cause: error });
  const message = error instanceof Error ? error.message : String(error);
  return new ProviderError('Internal', message === '' ? (code ?? 'connect failed') : message, { cause: error });
}

function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
