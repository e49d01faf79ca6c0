import type { HostReport } from '../../providers/contract/index.ts';
import { KubeError } from '../kube/errors.ts';
import type { Lease, NewNode, NodeMetadataPatch, NodeStatus } from '../kube/nodes.ts';
import type { Node } from '../model/pod.ts';

export const HOST: HostReport = {
  os: 'linux',
  arch: 'amd64',
  bootId: 'boot-1',
  runtimeName: 'docker',
  runtimeVersion: '29.0.0',
  capacity: { cpuMilli: 4000, memoryBytes: 8 * 2 ** 30, pods: 110 },
  addresses: [{ type: 'InternalIP', address: '10.0.0.5' }],
};

/** The API server's Node and Lease objects, in memory, with just as much merging as a kubelet's writes need. */
export class FakeNodeObjects {
  node: Node | undefined;
  lease: Lease | undefined;
  readonly calls: string[] = [];
  readonly patches: { status: NodeStatus; metadata: NodeMetadataPatch | undefined }[] = [];
  /** Thrown by every call while set. */
  failure: Error | undefined;
  #uids = 0;
  #version = 0;

  readonly nodes = {
    get: async (): Promise<Node | undefined> => {
      this.#called('get');
      return this.node;
    },
    create: async ({ metadata, ...rest }: NewNode): Promise<Node> => {
      this.#called('create');
      if (this.node !== undefined) throw new KubeError(409, { reason: 'AlreadyExists' }, 'exists');
      this.node = this.#stamp({ ...rest, metadata: { ...metadata, uid: `node-uid-${++this.#uids}` } });
      return this.node;
    },
    patchStatus: async (
      _name: string,
      status: NodeStatus,
      { metadata }: { readonly metadata?: NodeMetadataPatch },
    ): Promise<Node> => {
      this.#called('patch');
      if (this.node === undefined) throw new KubeError(404, { reason: 'NotFound' }, 'not found');
      this.patches.push({ status, metadata });
      this.node = this.#stamp(merged(this.node, status, metadata));
      return this.node;
    },
  };

  readonly leases = {
    get: async (): Promise<Lease | undefined> => {
      this.#called('lease get');
      return this.lease;
    },
    create: async (lease: Lease): Promise<Lease> => {
      this.#called('lease create');
      this.lease = this.#stamp(lease);
      return this.lease;
    },
    replace: async (lease: Lease): Promise<Lease> => {
      this.#called('lease replace');
      if (this.lease === undefined) throw new KubeError(404, { reason: 'NotFound' }, 'not found');
      if (this.lease.metadata.resourceVersion !== lease.metadata.resourceVersion) {
        throw new KubeError(409, { reason: 'Conflict' }, 'conflict');
      }
      this.lease = this.#stamp(lease);
      return this.lease;
    },
  };

  /** Somebody else changes the Node. */
  edit(change: (node: Node) => Node): void {
    if (this.node === undefined) throw new Error('no node');
    this.node = this.#stamp(change(this.node));
  }

  count(call: string): number {
    return this.calls.filter((name) => name === call).length;
  }

  condition(type: string): { status?: string; message?: string } | undefined {
    return this.node?.status?.conditions?.find((condition) => condition.type === type);
  }

  #called(name: string): void {
    this.calls.push(name);
    if (this.failure !== undefined) throw this.failure;
  }

  #stamp<T extends { metadata: object }>(object: T): T {
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#version) } };
  }
}

function merged(node: Node, status: NodeStatus, metadata: NodeMetadataPatch | undefined): Node {
  const { conditions = [], ...fields } = status;
  const before = node.status?.conditions ?? [];
  const kept = before.map((old) => conditions.find(({ type }) => type === old.type) ?? old);
  const added = conditions.filter(({ type }) => !before.some((old) => old.type === type));
  return {
    ...node,
    metadata: {
      ...node.metadata,
      labels: withoutNulls({ ...node.metadata.labels, ...metadata?.labels }),
      annotations: withoutNulls({ ...node.metadata.annotations, ...metadata?.annotations }),
    },
    status: { ...node.status, ...fields, conditions: [...kept, ...added] },
  };
}

function withoutNulls(values: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== null));
}
