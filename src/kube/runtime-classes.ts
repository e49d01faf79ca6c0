import type { Requester } from './client.ts';

interface RuntimeClass {
  readonly handler: string;
}

/** RuntimeClasses, each asked for when a pod that names one is set up. */
export class RuntimeClassApi {
  readonly #client: Requester;

  constructor(client: Requester) {
    this.#client = client;
  }

  /** What the runtime knows it by (LookupRuntimeHandler). */
  async handler(name: string, { signal }: { readonly signal: AbortSignal }): Promise<string> {
    const path = `/apis/node.k8s.io/v1/runtimeclasses/${encodeURIComponent(name)}`;
    return (await this.#client.request<RuntimeClass>({ method: 'GET', path, signal })).handler;
  }
}
