import { createHmac, randomBytes } from 'node:crypto';
import PQueue from 'p-queue';
import { ChildAbort, untilAborted } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { Expiring } from '../util/expiring.ts';
import type { ReviewedUser } from './authz.ts';
import type { Requester } from './client.ts';
import { askWithRetries } from './review-retry.ts';

/** Answers kept; whoever makes up tokens beyond that only makes the API server be asked again. */
const CACHE_LIMIT = 4_096;
/** Anybody who reaches the port can cause reviews: they must not take all connections to the API server. */
const PARALLEL = 4;
/** A review is shared by all who wait for it, so none of them ends it but the last. */
const REVIEW_MS = 30_000;

export interface TokenReviewsOptions {
  readonly client: Requester;
  readonly clock: Clock;
  readonly random: () => number;
  /** How long an answer counts, yes and no alike (`authentication.webhook.cacheTTL`); 0: not at all. */
  readonly cacheMs: number;
  /** Life of the node. */
  readonly signal: AbortSignal;
}

/** `shared` ends when the last who waits is gone. */
interface Review {
  readonly answer: Promise<ReviewedUser | undefined>;
  readonly shared: ChildAbort;
  waiting: number;
}

interface TokenReviewAnswer {
  readonly status?: {
    readonly authenticated?: boolean;
    readonly error?: string;
    readonly user?: {
      readonly username?: string;
      readonly uid?: string;
      readonly groups?: readonly string[];
      readonly extra?: Readonly<Record<string, readonly string[]>>;
    };
  };
}

/**
 * Asks the API server whose bearer token this is, as a kubelet does (reference 11.12). Tokens are kept as keyed hashes only, and
 * never logged. A failure to ask is not an answer and is not kept.
 */
export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #answers: Expiring<string, ReviewedUser | undefined>;
  readonly #running = new Map<string, Review>();
  readonly #queue = new PQueue({ concurrency: PARALLEL });
  /** Made up at start: a hash that leaks from memory fits no table. */
  readonly #secret = randomBytes(32);

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    this.#answers = new Expiring(CACHE_LIMIT, options.clock);
  }

  /** Undefined: nobody's token. Rejects when the API server cannot be asked or cannot say. */
  async review(token: string, { signal }: { readonly signal: AbortSignal }): Promise<ReviewedUser | undefined> {
    const key = createHmac('sha256', this.#secret).update(token).digest('base64');
    const known = this.#answers.get(key);
    if (known !== undefined) return known.value;
    const review = this.#running.get(key) ?? this.#begin(key, token);
    review.waiting += 1;
    try {
      return await untilAborted(review.answer, signal);
    } finally {
      review.waiting -= 1;
      if (review.waiting === 0) {
        review.shared.abort(new Error('nobody waits for the review of a token'));
        if (this.#running.get(key) === review) this.#running.delete(key);
      }
    }
  }

  #begin(key: string, token: string): Review {
    const shared = new ChildAbort(this.#options.signal);
    const answer = this.#ask(key, token, shared);
    answer.catch(() => undefined); // each who waits hears of it; with nobody left it is nobody's failure
    const review: Review = { answer, shared, waiting: 0 };
    this.#running.set(key, review);
    return review;
  }

  async #ask(key: string, token: string, shared: ChildAbort): Promise<ReviewedUser | undefined> {
    using life = shared;
    const { signal } = life;
    const { client, clock, random, cacheMs } = this.#options;
    const cancel = clock.timer(REVIEW_MS, () => life.abort(new Error('a token could not be reviewed in time')));
    try {
      const ask = (): Promise<TokenReviewAnswer> => request(client, token, signal);
      const { status } = await untilAborted(
        this.#queue.add(() => askWithRetries(ask, { clock, random, signal }), { signal }),
        signal,
      );
      const authenticated = status?.authenticated === true;
      if (!authenticated && status?.error) throw new Error(`the API server cannot review a token: ${status.error}`);
      const user = authenticated ? reviewedUser(status.user) : undefined;
      this.#answers.set(key, user, cacheMs);
      return user;
    } finally {
      cancel();
    }
  }
}

/** No audiences, as the kubelet: a token for the API server itself. */
function request(client: Requester, token: string, signal: AbortSignal): Promise<TokenReviewAnswer> {
  return client.request<TokenReviewAnswer>({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/tokenreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
    signal,
  });
}

function reviewedUser(user: NonNullable<TokenReviewAnswer['status']>['user']): ReviewedUser | undefined {
  if (user?.username === undefined || user.username === '') return undefined;
  const { username, groups = [], uid, extra } = user;
  return { name: username, groups, ...(uid && { uid }), ...(extra && { extra }) };
}
