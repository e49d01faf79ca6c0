import { createHash } from 'node:crypto';
import type { Clock } from '../util/clock.ts';
import { Expiring } from '../util/expiring.ts';
import type { Requester } from './client.ts';
import { askWithRetries } from './review-retry.ts';

/** Who asks, as a client certificate or a token says. */
export interface ReviewedUser {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface NodeAccess {
  readonly verb: string;
  readonly subresource: string;
}

/** Answers kept; whoever makes up names beyond that only makes the API server be asked again. */
const CACHE_LIMIT = 8_192;

export interface NodeAuthorizerOptions {
  readonly client: Requester;
  readonly nodeName: string;
  /** How long a yes counts (`authorization.webhook.cacheAuthorizedTTL`); 0: not at all. */
  readonly allowedMs: number;
  /** How long a no counts (`authorization.webhook.cacheUnauthorizedTTL`); 0: not at all. */
  readonly deniedMs: number;
  readonly clock: Clock;
  readonly random: () => number;
}

interface AccessReviewAnswer {
  readonly status?: { readonly allowed?: boolean; readonly denied?: boolean };
}

/** Asks the API server whether a user may do something with this node, as a kubelet in mode Webhook does (reference 11.12). */
export class NodeAuthorizer {
  readonly #options: NodeAuthorizerOptions;
  readonly #answers: Expiring<string, boolean>;

  constructor(options: NodeAuthorizerOptions) {
    this.#options = options;
    this.#answers = new Expiring(CACHE_LIMIT, options.clock);
  }

  /** Rejects when the API server cannot be asked: that is neither yes nor no, and is not kept. */
  async allowed(
    user: ReviewedUser,
    access: NodeAccess,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<boolean> {
    const { clock, random, allowedMs, deniedMs } = this.#options;
    const spec = this.#spec(user, access);
    // A hash, so that long names do not make the cache large.
    const key = createHash('sha256').update(JSON.stringify(spec)).digest('base64');
    const known = this.#answers.get(key);
    if (known !== undefined) return known.value;
    const { status } = await askWithRetries(() => this.#ask(spec, signal), { clock, random, signal });
    const allowed = status?.allowed === true;
    if (allowed && status.denied === true) throw new Error('the API server both allows and denies an access');
    this.#answers.set(key, allowed, allowed ? allowedMs : deniedMs);
    return allowed;
  }

  #spec({ name, groups, uid, extra }: ReviewedUser, { verb, subresource }: NodeAccess): object {
    const resourceAttributes = { verb, version: 'v1', resource: 'nodes', subresource, name: this.#options.nodeName };
    return { user: name, groups, ...(uid && { uid }), ...(extra && { extra }), resourceAttributes };
  }

  #ask(spec: object, signal: AbortSignal): Promise<AccessReviewAnswer> {
    return this.#options.client.request<AccessReviewAnswer>({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
      signal,
    });
  }
}
