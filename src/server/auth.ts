import type { IncomingMessage } from 'node:http';
import { type AccessAttributes, accessAttributes } from './access-attributes.ts';
import { type Authenticators, authenticate, type User } from './authenticate.ts';
import { removeTokens } from './bearer.ts';
import { isPlainTarget, pathOf } from './reply.ts';

export type { AccessAttributes } from './access-attributes.ts';
export type { User } from './authenticate.ts';

type Authorize = (
  user: User,
  attributes: AccessAttributes,
  options: { readonly signal: AbortSignal },
) => Promise<boolean>;

/** Everything that decides who is let in, to what. */
export interface AccessPolicy extends Authenticators {
  /** Rejects when it cannot be decided. */
  readonly authorize: Authorize;
}

export type Access =
  | { readonly type: 'granted'; readonly user: User }
  | { readonly type: 'refused'; readonly code: 400 | 401 | 403 | 500; readonly body: string; readonly cause?: unknown };

/**
 * Who asks, and whether that is allowed. Plain requests and protocol upgrades both go through here, before anything else about
 * the request is looked at (reference 11.3, 11.12). Once granted, the request carries no token any more. Never rejects.
 */
export async function checkAccess(
  request: IncomingMessage,
  policy: AccessPolicy,
  options: { readonly signal: AbortSignal },
): Promise<Access> {
  const authentication = await authenticate(request, policy, options);
  if (authentication.type === 'unknown')
    return { type: 'refused', code: 401, body: 'Unauthorized', ...causeOf(authentication) };
  const { user } = authentication;
  if (!isPlainTarget(request)) return { type: 'refused', code: 400, body: 'Bad Request' };
  const attributes = accessAttributes(request.method ?? '', pathOf(request));
  const who = (verb: string): string => `user=${user.name}, verb=${verb}, resource=nodes`;
  for (const attribute of attributes) {
    try {
      if (!(await policy.authorize(user, attribute, options))) continue;
      removeTokens(request);
      return { type: 'granted', user };
    } catch (cause) {
      const body = `Authorization error (${who(attribute.verb)}, subresource=${attribute.subresource})`;
      return { type: 'refused', code: 500, body, cause };
    }
  }
  const subresources = attributes.map(({ subresource }) => subresource).join(' ');
  const body = `Forbidden (${who(attributes[0]?.verb ?? '')}, subresource(s)=[${subresources}])\n`;
  return { type: 'refused', code: 403, body };
}

function causeOf({ cause }: { readonly cause?: unknown }): { readonly cause?: unknown } {
  return cause === undefined ? {} : { cause };
}
