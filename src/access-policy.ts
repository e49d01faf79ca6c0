import { NodeAuthorizer } from './kube/authz.ts';
import type { Requester } from './kube/client.ts';
import { TokenReviews } from './kube/token-reviews.ts';
import type { AccessPolicy } from './server/auth.ts';
import type { Clock } from './util/clock.ts';

export interface AccessPolicyOptions {
  readonly client: Requester;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Life of the node. */
  readonly signal: AbortSignal;
}

/** Who is let in at the kubelet API of one node, as configured. */
export function makeAccessPolicy({ client, nodeName, clock, random, signal }: AccessPolicyOptions): AccessPolicy {
  const reviews = new TokenReviews({ client, clock, random, cacheMs: 120_000, signal });
  const authorizer = new NodeAuthorizer({ client, nodeName, allowedMs: 300_000, deniedMs: 30_000, clock, random });
  return {
    authorize: (user, access, options) => authorizer.allowed(user, access, options),
    reviewToken: (token, options) => reviews.review(token, options),
  };
}
