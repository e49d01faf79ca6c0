import { describe, expect, it } from 'vitest';
import { type Cidr, cidrsOverlap, isNetwork, parseCidr } from './cidr.ts';

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new Error(`not a CIDR: ${text}`);
  return parsed;
}

describe('CIDR networks', () => {
  it.each([
    ['10.244.1.0/24', { family: 4, address: 0x0af40100n, prefix: 24 }],
    ['0.0.0.0/0', { family: 4, address: 0n, prefix: 0 }],
    ['fd00:1::/64', { family: 6, address: 0xfd000001n << 96n, prefix: 64 }],
    ['::ffff:10.0.0.1/128', { family: 6, address: 0xffff0a000001n, prefix: 128 }],
  ])('reads %s', (text, expected) => {
    expect(parseCidr(text)).toEqual(expected);
  });

  it.each(['', '10.0.0.0', '10.0.0.0/33', '10.0.0/24', '10.0.0.0/24/1', 'fd00::/129', 'abc/8', '10.0.0.0/-1'])(
    'refuses %j',
    (text) => {
      expect(parseCidr(text)).toBeUndefined();
    },
  );

  it('tells a network from a host address', () => {
    expect(isNetwork(cidr('10.244.1.0/24'))).toBe(true);
    expect(isNetwork(cidr('10.244.1.7/24'))).toBe(false);
  });

  it.each([
    ['10.0.0.0/8', '10.244.1.0/24', true],
    ['10.244.1.0/24', '10.244.1.0/24', true],
    ['10.244.1.0/25', '10.244.1.128/25', false],
    ['10.244.1.0/24', '10.244.2.0/24', false],
    ['0.0.0.0/0', '192.168.0.0/16', true],
    ['fd00::/16', 'fd00:1::/64', true],
    ['::/0', '10.0.0.0/8', false],
  ])('%s and %s overlap: %s', (a, b, overlap) => {
    expect(cidrsOverlap(cidr(a), cidr(b))).toBe(overlap);
    expect(cidrsOverlap(cidr(b), cidr(a))).toBe(overlap);
  });
});
