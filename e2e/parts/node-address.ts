import { networkInterfaces } from 'node:os';

/** The first address of this machine that other hosts and containers can reach, not counting Docker's own bridges. */
export function nodeAddress(interfaces = networkInterfaces()): string {
  for (const [name, addresses] of Object.entries(interfaces)) {
    if (/^(lo|docker|br-|veth|virbr|cni|outrigger)/.test(name)) continue;
    const found = addresses?.find(({ family, internal }) => family === 'IPv4' && !internal);
    if (found !== undefined) return found.address;
  }
  return '127.0.0.1';
}
