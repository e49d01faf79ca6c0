import type { AccessConfig } from './config/config.ts';
import { NodeAuthorizer } from './kube/authz.ts';
import type { Requester } from './kube/client.ts';
import { TokenReviews } from './kube/token-reviews.ts';
import type { AccessPolicy } from './server/auth.ts';
import type { Clock } from './util/clock.ts';

export interface AccessPolicyOptions {
  readonly client: Requester;
  readonly nodeName: string;
  readonly access: AccessConfig;
  readonly clock: Clock;
  readonly random: () => number;
  /** Life of the node. */
  readonly signal: AbortSignal;
}

/** Who is let in at the kubelet API of one node, as configured. */
export function makeAccessPolicy(options: AccessPolicyOptions): AccessPolicy {
  const { client, nodeName, access, clock, random, signal } = options;
  const { mode, allowedMs, deniedMs } = access.authorization;
  const authorizer = new NodeAuthorizer({ client, nodeName, allowedMs, deniedMs, clock, random });
  const reviews = new TokenReviews({ client, clock, random, cacheMs: access.tokens.cacheMs, signal });
  return {
    clock,
    anonymous: access.anonymous,
    // config/access.ts lets AlwaysAllow through only where the command line asks for an open API.
    authorize:
      mode === 'AlwaysAllow'
        ? () => Promise.resolve(true)
        : (user, attributes, call) => authorizer.allowed(user, attributes, call),
    ...(access.tokens.enabled && { reviewToken: (token, call) => reviews.review(token, call) }),
  };
}
