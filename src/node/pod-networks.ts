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
