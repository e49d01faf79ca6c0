import type { HostReport, ImageFacet, ProviderTraits } from '../../providers/contract/index.ts';
import type { NewNode, NodeMetadataPatch, NodeStatus } from '../kube/nodes.ts';
import type { Node } from '../model/pod.ts';

/** What one node's agent asks of others; app.ts hands the implementations over. */

interface Options {
  readonly signal: AbortSignal;
}

/** kube/nodes.ts: NodeApi. */
export interface NodeObjects {
  get(name: string, options: Options): Promise<Node | undefined>;
  create(node: NewNode, options: Options): Promise<Node>;
  patchStatus(
    name: string,
    status: NodeStatus,
    options: Options & { readonly metadata?: NodeMetadataPatch },
  ): Promise<Node>;
}

/**
 * Follows the own Node until the signal aborts and says that it changed, with its latest state (undefined: deleted).
 * Only a hint: the agent asks again before it acts.
 */
export type NodeWatch = (changed: (node: Node | undefined) => void, options: Options) => Promise<void>;

export interface NodeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Never waits and never fails (reference 3.2). The UID is the real one, so that `kubectl describe node` finds the event (3.1). */
export type NodeEventSink = (node: { readonly name: string; readonly uid: string }, event: NodeEvent) => void;

/** The part of a provider that the node needs. */
export interface HostSource {
  readonly traits: { readonly network: Pick<ProviderTraits['network'], 'subnet'> };
  describeHost(options: Options): Promise<HostReport>;
  /** Present on container-level backends. */
  readonly images?: Pick<ImageFacet, 'listImages'>;
  /** Only whether they are there. */
  readonly exec?: object | undefined;
  readonly attach?: object | undefined;
  readonly dial?: object | undefined;
}

/** When the PLEG last listed the backend; unhealthy after three minutes without (reference 16.1). */
export type PlegHealth = () => { readonly healthy: boolean; readonly lastSeenMs: number };
