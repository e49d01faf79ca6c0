import { BlockList, isIP } from 'node:net';

/** Two CIDRs share addresses exactly when one holds the other's first address. */
export function subnetsOverlap(a: string, b: string): boolean {
  return holdsBaseOf(a, b) || holdsBaseOf(b, a);
}

function holdsBaseOf(outer: string, inner: string): boolean {
  const [base = '', prefix = ''] = outer.split('/');
  const [address = ''] = inner.split('/');
  const family = isIP(base);
  if (family === 0 || family !== isIP(address)) return false;
  const list = new BlockList();
  list.addSubnet(base, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
  return list.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
