import type { V1Lease, V1NodeStatus } from '@kubernetes/client-node';
import type { Json, Node } from '../model/pod.ts';
import type { Requester } from './client.ts';
import { STRATEGIC_MERGE_PATCH } from './client.ts';
import { isNotFound } from './errors.ts';
import { clusterScoped, nodeLeasePath } from './paths.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

export type NodeStatus = Json<V1NodeStatus>;
/** Times are micro-times (`microTime`). */
export type Lease = Omit<Json<V1Lease>, 'metadata'> & {
  metadata: NonNullable<Json<V1Lease>['metadata']> & { name: string };
};

interface Options {
  readonly signal: AbortSignal;
}

/** `null` removes a key. */
export interface NodeMetadataPatch {
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

/** What a node that does not exist yet is made from: the server fills the UID. */
export type NewNode = Omit<Node, 'metadata'> & { metadata: Omit<Node['metadata'], 'uid'> };

/** The own Node object only, with this selector for the Node authorizer (reference 0.2). */
export function watchNode(
  options: Omit<ReflectorOptions<Node>, 'name' | 'path' | 'fieldSelector'> & { readonly nodeName: string },
): Reflector<Node> {
  const { nodeName, ...rest } = options;
  return new Reflector<Node>({
    ...rest,
    name: `node ${nodeName}`,
    path: clusterScoped('nodes'),
    fieldSelector: `metadata.name=${nodeName}`,
  });
}

export class NodeApi {
  readonly #client: Requester;

  constructor(client: Requester) {
    this.#client = client;
  }

  get(name: string, { signal }: Options): Promise<Node | undefined> {
    return orMissing(this.#client.request<Node>({ method: 'GET', path: clusterScoped('nodes', name), signal }));
  }

  /** Rejects with a KubeError of status 409 when the node exists. */
  create(node: NewNode, { signal }: Options): Promise<Node> {
    const body = { apiVersion: 'v1', kind: 'Node', ...node };
    return this.#client.request<Node>({ method: 'POST', path: clusterScoped('nodes'), body, signal });
  }

  /** See `nodeStatusPatch`. Labels and annotations travel in the same call (reference 5.8). */
  patchStatus(
    name: string,
    next: NodeStatus,
    { previous, metadata, signal }: Options & { readonly previous?: NodeStatus; readonly metadata?: NodeMetadataPatch },
  ): Promise<Node> {
    const body = { ...(metadata === undefined ? {} : { metadata }), status: nodeStatusPatch(next, previous) };
    return this.#client.request<Node>({
      method: 'PATCH',
      path: clusterScoped('nodes', name, 'status'),
      contentType: STRATEGIC_MERGE_PATCH,
      body,
      signal,
    });
  }
}

/**
 * A strategic merge patch with the fields of `next`. Conditions merge by type, so those of others survive. Addresses are
 * replaced as a whole: merged by type they could not hold two of a kind. Resources that `previous` had and `next` has not
 * are removed; fields absent in `next` stay as they are.
 */
function nodeStatusPatch(next: NodeStatus, previous?: NodeStatus): Record<string, unknown> {
  const patch: Record<string, unknown> = { ...next };
  if (next.addresses !== undefined) patch['addresses'] = [...next.addresses, { $patch: 'replace' }];
  for (const field of ['capacity', 'allocatable'] as const) {
    const quantities = next[field];
    if (quantities === undefined) continue;
    const removed = Object.keys(previous?.[field] ?? {}).filter((key) => !(key in quantities));
    patch[field] = { ...quantities, ...Object.fromEntries(removed.map((key) => [key, null])) };
  }
  return patch;
}

export class LeaseApi {
  readonly #client: Requester;

  constructor(client: Requester) {
    this.#client = client;
  }

  get(name: string, { signal }: Options): Promise<Lease | undefined> {
    return orMissing(this.#client.request<Lease>({ method: 'GET', path: nodeLeasePath(name), signal }));
  }

  /** Rejects with a KubeError: 409 when the lease exists, 404 while the namespace does not. */
  create(lease: Lease, { signal }: Options): Promise<Lease> {
    return this.#client.request<Lease>({ method: 'POST', path: nodeLeasePath(), body: typed(lease), signal });
  }

  /** PUT, as the kubelet does; with the resourceVersion of `lease`, so a lost race is a KubeError of status 409. */
  replace(lease: Lease, { signal }: Options): Promise<Lease> {
    const path = nodeLeasePath(lease.metadata.name);
    // A heartbeat that takes longer is no heartbeat: the next one is due.
    return this.#client.request<Lease>({ method: 'PUT', path, body: typed(lease), timeoutMs: 10_000, signal });
  }
}

/** RFC 3339 with six decimals: the server refuses fewer in a micro-time field. */
export function microTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}

function typed(lease: Lease): Lease {
  return { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...lease };
}

async function orMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
