import type { PersistentVolume, PersistentVolumeClaim } from '../model/pod.ts';
import type { Requester } from './client.ts';
import { clusterScoped, namespaced } from './paths.ts';

/** Claims and the volumes behind them. The Node authorizer allows a GET of what a pod of the node refers to, and nothing else. */
export class ClaimApi {
  readonly #client: Requester;
  readonly #signal: AbortSignal;

  constructor(client: Requester, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  claim(namespace: string, name: string): Promise<PersistentVolumeClaim> {
    return this.#client.request<PersistentVolumeClaim>({
      method: 'GET',
      path: namespaced(namespace, 'persistentvolumeclaims', name),
      signal: this.#signal,
    });
  }

  volume(name: string): Promise<PersistentVolume> {
    return this.#client.request<PersistentVolume>({
      method: 'GET',
      path: clusterScoped('persistentvolumes', name),
      signal: this.#signal,
    });
  }
}
