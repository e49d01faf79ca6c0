import type { Pod } from '../model/pod.ts';
import type { Requester } from './client.ts';
import { STRATEGIC_MERGE_PATCH } from './client.ts';
import { isNotFound, KubeError } from './errors.ts';
import { clusterScoped, namespaced } from './paths.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

/** The pods bound to a node. The Node authorizer allows exactly this selector (reference 0.2). */
export function watchPods(
  options: Omit<ReflectorOptions<Pod>, 'name' | 'path' | 'fieldSelector'> & { readonly nodeName: string },
): Reflector<Pod> {
  const { nodeName, ...rest } = options;
  return new Reflector<Pod>({
    ...rest,
    name: `pods of ${nodeName}`,
    path: clusterScoped('pods'),
    fieldSelector: `spec.nodeName=${nodeName}`,
  });
}

export type PatchResult = { readonly type: 'written'; readonly pod: Pod } | { readonly type: 'gone' };

/** Calls about one pod. "Gone" means that no object with this UID exists: deleted, or its name belongs to another pod now. */
export class PodApi {
  readonly #client: Requester;

  constructor(client: Requester) {
    this.#client = client;
  }

  /**
   * Undefined when no object with this UID is bound to its node. A list, because the Node authorizer refuses to get a pod by
   * a name that belongs to another node's pod by now (a StatefulSet's, say), which would look like a lack of rights.
   */
  async get(pod: Pod, { signal }: { readonly signal: AbortSignal }): Promise<Pod | undefined> {
    const { name, namespace, uid } = pod.metadata;
    const selectors = [`metadata.name=${name}`, `spec.nodeName=${pod.spec.nodeName ?? ''}`];
    const { items } = await this.#client.request<{ readonly items: readonly Pod[] }>({
      method: 'GET',
      path: namespaced(namespace, 'pods'),
      query: { fieldSelector: selectors.join(',') },
      signal,
    });
    return items.find((found) => found.metadata.uid === uid);
  }

  /** `status` is a strategic merge patch of the status alone; the UID in it is the precondition (reference 1.8). */
  async patchStatus(pod: Pod, status: object, { signal }: { readonly signal: AbortSignal }): Promise<PatchResult> {
    try {
      const written = await this.#client.request<Pod>({
        method: 'PATCH',
        path: podPath(pod, 'status'),
        contentType: STRATEGIC_MERGE_PATCH,
        body: { metadata: { uid: pod.metadata.uid }, status },
        signal,
      });
      return { type: 'written', pod: written };
    } catch (error) {
      if (await this.#isGone(pod, error, signal)) return { type: 'gone' };
      throw error;
    }
  }

  /** DELETE with grace period 0 (reference 1.10). A pod with finalizers keeps its object; our part is done all the same. */
  async remove(pod: Pod, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    try {
      await this.#client.request({
        method: 'DELETE',
        path: podPath(pod),
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          gracePeriodSeconds: 0,
          preconditions: { uid: pod.metadata.uid },
        },
        signal,
      });
    } catch (error) {
      if (!(await this.#isGone(pod, error, signal))) throw error;
    }
  }

  /**
   * A foreign UID is a 422 for PATCH (`metadata.uid: field is immutable`), a 409 for DELETE, and a 403 for both when its pod
   * is another node's. All three also mean other things, and only words tell them apart: asking is the sure way, and rarely needed.
   */
  async #isGone(pod: Pod, error: unknown, signal: AbortSignal): Promise<boolean> {
    if (isNotFound(error)) return true;
    const doubtful = error instanceof KubeError && [403, 409, 422].includes(error.status);
    return doubtful && (await this.get(pod, { signal })) === undefined;
  }
}

function podPath(pod: Pod, ...rest: readonly string[]): string {
  return namespaced(pod.metadata.namespace, 'pods', pod.metadata.name, ...rest);
}
