import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';

/**
 * A /16 for the pods of a private control plane that no route of this machine touches (Docker networks are routes too), so that
 * several control planes and what else runs here do not collide. 10.200–10.247 is rarely used by VPNs and by Docker itself.
 */
export function pickClusterCidr(routes = readRoutes(), random: (n: number) => number = randomInt): string {
  const taken = new Set(routes.filter(({ first }) => first === 10).map(({ second }) => second));
  const free = Array.from({ length: 48 }, (_, i) => 200 + i).filter((second) => !taken.has(second));
  const second = free[random(free.length || 1)];
  if (second === undefined) throw new Error('no free network between 10.200.0.0/16 and 10.247.0.0/16 for the pods');
  return `10.${second}.0.0/16`;
}

interface Route {
  readonly first: number;
  readonly second: number;
}

/** Destinations in /proc/net/route: hexadecimal, lowest byte first. */
function readRoutes(): Route[] {
  try {
    return readFileSync('/proc/net/route', 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => Number.parseInt(line.split('\t')[1] ?? '0', 16))
      .map((address) => ({ first: address & 0xff, second: (address >> 8) & 0xff }));
  } catch {
    return [];
  }
}
