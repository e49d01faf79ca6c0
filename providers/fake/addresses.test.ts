import { expect, test } from 'vitest';
import { AddressPool, defaultSubnet } from './addresses.ts';

test('gives out every address between the gateway and the broadcast address once', () => {
  const pool = new AddressPool('10.9.8.0/29');
  const given = Array.from({ length: 5 }, () => pool.allocate());
  expect(given).toEqual(['10.9.8.2', '10.9.8.3', '10.9.8.4', '10.9.8.5', '10.9.8.6']);
  expect(() => pool.allocate()).toThrow('no free address in 10.9.8.0/29');
  pool.release('10.9.8.4');
  expect(pool.allocate()).toBe('10.9.8.4');
});

test('an address just freed is not the next one', () => {
  const pool = new AddressPool('192.168.255.0/24');
  pool.release(pool.allocate());
  expect(pool.allocate()).toBe('192.168.255.3');
});

test('refuses what is no network', () => {
  expect(() => new AddressPool('fd00::/64')).toThrow('not a pod network: fd00::/64');
});

test('nodes get networks of their own by default', () => {
  expect(defaultSubnet('a')).toMatch(/^10\.\d+\.0\.0\/16$/);
  expect(defaultSubnet('a')).not.toBe(defaultSubnet('b'));
});
