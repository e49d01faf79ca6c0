import { isIP } from 'node:net';

/** An address with the length of its network's prefix. */
export interface Cidr {
  readonly family: 4 | 6;
  /** Address as a number, host bits included. */
  readonly address: bigint;
  readonly prefix: number;
}

/** `10.244.1.0/24` or `fd00::/64`; undefined when the text is not a network in CIDR form. */
export function parseCidr(text: string): Cidr | undefined {
  const [ip = '', bits = '', ...rest] = text.split('/');
  const address = parseIp(ip);
  if (address === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits)) return undefined;
  const prefix = Number(bits);
  return prefix <= width(address.family) ? { ...address, prefix } : undefined;
}

/** False where bits behind the prefix are set: `10.244.1.7/24` names a host, not a network. */
export function isNetwork(cidr: Cidr): boolean {
  return firstOf(cidr) === cidr.address;
}

/** Whether any address is in both networks; host bits are ignored, families never meet. */
export function cidrsOverlap(a: Cidr, b: Cidr): boolean {
  if (a.family !== b.family) return false;
  const shorter = Math.min(a.prefix, b.prefix);
  return firstOf({ ...a, prefix: shorter }) === firstOf({ ...b, prefix: shorter });
}

function firstOf({ family, address, prefix }: Cidr): bigint {
  const hostBits = BigInt(width(family) - prefix);
  return (address >> hostBits) << hostBits;
}

function width(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

function parseIp(text: string): { family: 4 | 6; address: bigint } | undefined {
  const family = isIP(text);
  if (family === 4) return { family, address: v4(text) };
  if (family !== 6 || text.includes('%')) return undefined;
  return { family, address: v6(text) };
}

function v4(text: string): bigint {
  return text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
}

function v6(text: string): bigint {
  // A dotted tail (::ffff:10.0.0.1) becomes two groups first.
  const tail = /[\d.]+\.\d+$/.exec(text)?.[0];
  const low = tail === undefined ? 0n : v4(tail);
  const plain =
    tail === undefined
      ? text
      : `${text.slice(0, -tail.length)}${(low >> 16n).toString(16)}:${(low & 0xffffn).toString(16)}`;
  const [left = '', right] = plain.split('::');
  const head = left === '' ? [] : left.split(':');
  const end = right === undefined || right === '' ? [] : right.split(':');
  const zeros = right === undefined ? [] : Array.from({ length: 8 - head.length - end.length }, () => '0');
  return [...head, ...zeros, ...end].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}
