import { expect, it } from 'vitest';
import { subnetsOverlap } from './subnets.ts';

it.each([
  ['10.1.0.0/24', '10.1.0.0/24', true],
  ['10.1.0.0/16', '10.1.3.0/24', true],
  ['10.1.3.0/24', '10.1.0.0/16', true],
  ['10.1.0.0/24', '10.1.1.0/24', false],
  ['10.1.0.0/24', 'fd00::/64', false],
  ['fd00::/48', 'fd00:0:0:1::/64', true],
  ['nonsense', '10.1.0.0/24', false],
])('%s and %s overlap: %s', (a, b, expected) => {
  expect(subnetsOverlap(a, b)).toBe(expected);
});
