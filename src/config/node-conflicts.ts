import { cidrsOverlap, parseCidr } from '../util/cidr.ts';
import { UsageError } from '../util/errors.ts';
import type { Config, NodeConfig } from './config.ts';

/** A client certificate names one node; rights for several come from another identity (docs/operations.md). */
export function checkIdentity({ nodes, clientCertificate }: Pick<Config, 'nodes' | 'clientCertificate'>): void {
  const { rotate, bootstrapKubeconfig } = clientCertificate;
  if (nodes.length === 1 || (!rotate && bootstrapKubeconfig === undefined)) return;
  const flag = rotate ? '--rotate-certificates (rotateCertificates)' : '--bootstrap-kubeconfig';
  throw new UsageError(`${flag}: a client certificate is of one node, and there are ${nodes.length}`);
}

/** Refuses nodes of one process that would get in each other's way, naming both. */
export function checkNodes({ nodes, healthz }: Pick<Config, 'nodes' | 'healthz'>): void {
  nodes.forEach((node, index) => {
    for (const other of nodes.slice(0, index)) {
      if (other.name === node.name) throw new UsageError(`nodes: two nodes have the name ${node.name}`);
    }
    const taken = [
      { ...healthz, what: 'the port of /healthz (--healthz-port)' },
      ...nodes.slice(0, index).flatMap((other) => listeners(other)),
    ];
    for (const listener of listeners(node)) {
      const other = taken.find((one) => sameListener(listener, one));
      if (other !== undefined) throw new UsageError(`node ${node.name}: port ${listener.port} is also ${other.what}`);
      taken.push(listener);
    }
    for (const other of nodes.slice(0, index)) {
      if (networksOverlap(node, other)) {
        throw new UsageError(
          `node ${node.name}: podCIDR ${node.podCidr} overlaps podCIDR ${other.podCidr} of node ${other.name}`,
        );
      }
    }
  });
}

type Listener = Pick<NodeConfig, 'address' | 'port'>;

function listeners({ name, address, port, readOnlyPort }: NodeConfig): (Listener & { readonly what: string })[] {
  return [
    { address, port, what: `the port of node ${name}` },
    { address, port: readOnlyPort, what: `the read-only port of node ${name}` },
  ];
}

/** Port 0 is any free one, or none. */
function sameListener(a: Listener, b: Listener): boolean {
  if (a.port === 0 || a.port !== b.port) return false;
  return a.address === b.address || isWildcard(a.address) || isWildcard(b.address);
}

function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

function networksOverlap(a: NodeConfig, b: NodeConfig): boolean {
  const first = a.podCidr === undefined ? undefined : parseCidr(a.podCidr);
  const second = b.podCidr === undefined ? undefined : parseCidr(b.podCidr);
  return first !== undefined && second !== undefined && cidrsOverlap(first, second);
}
