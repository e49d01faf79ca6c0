import type { Clock } from '../util/clock.ts';
import { Lru } from '../util/lru.ts';
import type { Requester } from './client.ts';

/** Who asks, as a client certificate or a token says. */
export interface ReviewedUser {
  readonly name: string;
  readonly groups: readonly string[];
}

export interface NodeAccess {
  readonly verb: string;
  readonly subresource: string;
}

/** How long an answer counts (reference 11.12: cacheAuthorizedTTL, cacheUnauthorizedTTL). */
const ALLOWED_MS = 300_000;
const DENIED_MS = 30_000;
/** Answers kept; whoever makes up names beyond that only makes the API server be asked again. */
const CACHE_LIMIT = 1_000;

/** Asks the API server whether a user may do something with this node, as a kubelet in mode Webhook does. */
export class NodeAuthorizer {
  readonly #client: Requester;
  readonly #nodeName: string;
  readonly #clock: Clock;
  readonly #answers = new Lru<string, { readonly allowed: boolean; readonly untilMs: number }>(CACHE_LIMIT);

  constructor(client: Requester, nodeName: string, clock: Clock) {
    this.#client = client;
    this.#nodeName = nodeName;
    this.#clock = clock;
  }

  /** Rejects when the API server cannot be asked: that is neither yes nor no. */
  async allowed(
    user: ReviewedUser,
    access: NodeAccess,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<boolean> {
    const key = JSON.stringify([user.name, user.groups, access.verb, access.subresource]);
    const nowMs = this.#clock.now();
    const known = this.#answers.get(key);
    if (known !== undefined && nowMs < known.untilMs) return known.allowed;
    const allowed = await this.#ask(user, access, signal);
    this.#answers.set(key, { allowed, untilMs: nowMs + (allowed ? ALLOWED_MS : DENIED_MS) });
    return allowed;
  }

  async #ask(user: ReviewedUser, { verb, subresource }: NodeAccess, signal: AbortSignal): Promise<boolean> {
    const resourceAttributes = { verb, version: 'v1', resource: 'nodes', subresource, name: this.#nodeName };
    const review = await this.#client.request<{
      readonly status?: { readonly allowed?: boolean; readonly denied?: boolean };
    }>({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user: user.name, groups: user.groups, resourceAttributes },
      },
      signal,
    });
    return review.status?.allowed === true && review.status.denied !== true;
  }
}
