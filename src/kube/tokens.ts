import type { Pod } from '../model/pod.ts';
import type { Requester } from './client.ts';
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

/** Tokens of service accounts, bound to one pod: they end with it (reference 9.5). */
export class TokenApi {
  readonly #client: Requester;

  constructor(client: Requester) {
    this.#client = client;
  }

  async request(
    pod: Pod,
    serviceAccount: string,
    { audiences = [], expirationSeconds = 3600, signal }: TokenOptions,
  ): Promise<ServiceAccountToken> {
    const { namespace, name, uid } = pod.metadata;
    const { status } = await this.#client.request<TokenRequestAnswer>({
      method: 'POST',
      path: namespaced(namespace, 'serviceaccounts', serviceAccount, 'token'),
      body: {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences, expirationSeconds, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid } },
      },
      signal,
    });
    return { token: status.token, expiresAtMs: Date.parse(status.expirationTimestamp) };
  }
}
