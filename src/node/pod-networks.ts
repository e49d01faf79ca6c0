import type { NodeConfig } from '../config/config.ts';
import type { Node } from '../model/pod.ts';
import { cidrsOverlap, parseCidr } from '../util/cidr.ts';

/**
 * The pod networks of all nodes of one process. Two that overlap would give Services the wrong pods. Configured ones are compared at
 * start already; those that come from spec.podCIDR only here.
 */
export class PodNetworks {
  readonly #byNode = new Map<string, string>();

  /** Configured networks come first, whichever node asks first. */
  constructor(nodes: readonly { readonly name: string; readonly podCidr?: string }[]) {
    for (const { name, podCidr } of nodes) if (podCidr !== undefined) this.#byNode.set(name, podCidr);
  }

  /** Takes the network for the node (in place of its former one), or says why not. */
  claim(node: string, cidr: string): string | undefined {
    const wanted = parseCidr(cidr);
    if (wanted === undefined) return `pod network ${cidr} is not a network in CIDR form`;
    for (const [other, taken] of this.#byNode) {
      const network = other === node ? undefined : parseCidr(taken);
      if (network !== undefined && cidrsOverlap(wanted, network)) {
        return `pod network ${cidr} overlaps ${taken} of node ${other}`;
      }
    }
    this.#byNode.set(node, cidr);
    return undefined;
  }
}

export interface PodNetwork {
  readonly cidr?: string;
  /** Why pods cannot have a network here, in words for the Ready condition. */
  readonly problem?: string;
}

/** `--pod-cidr`, else spec.podCIDR; a backend that has no use for one never lacks it. */
export function podNetwork(
  { name, podCidr }: Pick<NodeConfig, 'name' | 'podCidr'>,
  subnet: 'required' | 'unused',
  node: Node | undefined,
  networks: Pick<PodNetworks, 'claim'>,
): PodNetwork {
  const cidr = podCidr ?? node?.spec?.podCIDR ?? '';
  if (subnet === 'unused') return cidr === '' ? {} : { cidr };
  if (cidr === '') return { problem: 'no pod network: neither --pod-cidr nor spec.podCIDR of the node is set' };
  const problem = networks.claim(name, cidr);
  return problem === undefined ? { cidr } : { problem };
}
