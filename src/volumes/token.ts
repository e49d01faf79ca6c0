import type { Pod } from '../model/pod.ts';
import { isAbortError } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';

export interface TokenRequestInput {
  readonly pod: Pod;
  readonly serviceAccount: string;
  /** Empty: the audience of the API server. */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
}

export type RequestToken = (
  input: TokenRequestInput,
  options: { readonly signal: AbortSignal },
) => Promise<{ readonly token: string; readonly expiresAtMs: number }>;

export interface TokenCacheOptions {
  readonly requestToken: RequestToken;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  /** A renewal failed and the token in use goes on; told once per try, so that it is not silent. */
  readonly onRenewalFailed: (pod: Pod, error: unknown) => void;
}

interface CachedToken {
  readonly token: string;
  readonly expiresAtMs: number;
  readonly renewAtMs: number;
}

/** Renewal at this part of the life of a token, and never later than a day (token_manager.go: 80 %, 24 h, 10 s jitter). */
const RENEW_FRACTION = 0.8;
const MAX_AGE_MS = 24 * 3_600_000;
const MAX_JITTER_MS = 10_000;
/** The kubelet tries again at the next sync of the pod, which comes after 60 to 90 s. */
const RETRY_MS = 60_000;

/** Bound tokens of one pod: requested once, kept until a renewal is due (reference 9.5). */
export class PodTokens {
  readonly #options: TokenCacheOptions;
  readonly #tokens = new Map<string, CachedToken>();

  constructor(options: TokenCacheOptions) {
    this.#options = options;
  }

  /** When the first of the tokens wants to be renewed, or its failed renewal tried again. */
  get renewAtMs(): number | undefined {
    const times = [...this.#tokens.values()].map(({ renewAtMs }) => renewAtMs);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  async get(input: TokenRequestInput, options: { readonly signal: AbortSignal }): Promise<string> {
    const { clock, requestToken, random, onRenewalFailed } = this.#options;
    const key = JSON.stringify([input.serviceAccount, input.audiences, input.expirationSeconds]);
    const cached = this.#tokens.get(key);
    if (cached !== undefined && clock.now() < cached.renewAtMs) return cached.token;
    try {
      const { token, expiresAtMs } = await requestToken(input, options);
      const now = clock.now();
      const ttlMs = lifetimeMs(input.expirationSeconds, expiresAtMs - now);
      const renewAtMs = now + Math.min(ttlMs * RENEW_FRACTION, MAX_AGE_MS) - random() * MAX_JITTER_MS;
      this.#tokens.set(key, { token, expiresAtMs: now + ttlMs, renewAtMs });
      return token;
    } catch (error: unknown) {
      if (isAbortError(error, options.signal)) throw error;
      if (cached === undefined) throw new Error(`failed to fetch token: ${errorMessage(error)}`, { cause: error });
      if (clock.now() >= cached.expiresAtMs) {
        throw new Error(`token expired and refresh failed: ${errorMessage(error)}`, { cause: error });
      }
      onRenewalFailed(input.pod, error);
      this.#tokens.set(key, { ...cached, renewAtMs: clock.now() + RETRY_MS + random() * MAX_JITTER_MS });
      return cached.token;
    }
  }
}

/**
 * The server may grant less than asked for, but its clock is not ours: a remaining time that makes no sense here (none at all,
 * or more than asked for) is taken as what was asked for. Everything after that is counted on our own clock.
 */
function lifetimeMs(requestedSeconds: number, remainingMs: number): number {
  const requestedMs = requestedSeconds * 1000;
  return remainingMs > 0 ? Math.min(remainingMs, requestedMs) : requestedMs;
}
