import type { Pod } from '../model/pod.ts';
import type { Clock } from '../util/clock.ts';
import type { Requester } from './client.ts';
import { KubeError } from './errors.ts';
import { namespaced } from './paths.ts';

export interface ServiceAccountToken {
  readonly token: string;
  readonly expiresAtMs: number;
}

export interface TokenOptions {
  /** Empty: the audience of the API server. */
  readonly audiences?: readonly string[];
  readonly expirationSeconds?: number;
  readonly signal: AbortSignal;
}

interface TokenRequestAnswer {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

/**
 * The Node authorizer hears of a pod as we do, and sometimes after us: until then a node has no business with the pod's account.
 * A kubelet is seldom that fast.
 */
const FORBIDDEN_RETRIES_MS = [50, 100, 200, 400, 800];

/** Tokens of service accounts, bound to one pod: they end with it (reference 9.5). */
export class TokenApi {
  readonly #client: Requester;
  readonly #clock: Clock;

  constructor(client: Requester, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  async request(
    pod: Pod,
    serviceAccount: string,
    { audiences = [], expirationSeconds = 3600, signal }: TokenOptions,
  ): Promise<ServiceAccountToken> {
    const { namespace, name, uid } = pod.metadata;
    const spec = { audiences, expirationSeconds, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } };
    const ask = () =>
      this.#client.request<TokenRequestAnswer>({
        method: 'POST',
        path: namespaced(namespace, 'serviceaccounts', serviceAccount, 'token'),
        body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec },
        signal,
      });
    for (const delayMs of FORBIDDEN_RETRIES_MS) {
      try {
        return tokenOf(await ask());
      } catch (error) {
        if (!(error instanceof KubeError) || error.status !== 403) throw error;
        await this.#clock.sleep(delayMs, { signal });
      }
    }
    return tokenOf(await ask());
  }
}

function tokenOf({ status }: TokenRequestAnswer): ServiceAccountToken {
  return { token: status.token, expiresAtMs: Date.parse(status.expirationTimestamp) };
}
