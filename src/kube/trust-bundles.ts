import type { Requester } from './client.ts';
import { KubeError } from './errors.ts';

const PATH = '/apis/certificates.k8s.io/v1beta1/clustertrustbundles';

interface Bundle {
  readonly spec: { readonly trustBundle: string };
}

/** ClusterTrustBundles by name or by signer. An API server that does not serve them has none (they are off by default). */
export class TrustBundleApi {
  readonly #client: Requester;
  readonly #signal: AbortSignal;

  constructor(client: Requester, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  async byName(name: string): Promise<string | undefined> {
    const bundle = await this.#found<Bundle>(`${PATH}/${encodeURIComponent(name)}`);
    return bundle?.spec.trustBundle;
  }

  async bySigner(signerName: string, labelSelector: string): Promise<readonly string[]> {
    const query = new URLSearchParams({ fieldSelector: `spec.signerName=${signerName}` });
    if (labelSelector !== '') query.set('labelSelector', labelSelector);
    const list = await this.#found<{ readonly items: readonly Bundle[] }>(`${PATH}?${query}`);
    return (list?.items ?? []).map(({ spec }) => spec.trustBundle);
  }

  async #found<T>(path: string): Promise<T | undefined> {
    try {
      return await this.#client.request<T>({ method: 'GET', path, signal: this.#signal });
    } catch (error: unknown) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }
}
