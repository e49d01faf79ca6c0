import { describe, expect, it } from 'vitest';
import { pickClusterCidr } from './cluster-cidr.ts';

describe('the pod network of a private control plane', () => {
  it('is a /16 that no route of the machine touches', () => {
    const routes = [200, 201, 203].map((second) => ({ first: 10, second }));
    expect(pickClusterCidr(routes, () => 0)).toBe('10.202.0.0/16');
  });

  it('may have the second number of a route elsewhere', () => {
    expect(pickClusterCidr([{ first: 172, second: 200 }], () => 0)).toBe('10.200.0.0/16');
  });

  it('is refused in words when all are taken', () => {
    const routes = Array.from({ length: 56 }, (_, second) => ({ first: 10, second: 200 + second }));
    expect(() => pickClusterCidr(routes)).toThrow('no free network between 10.200.0.0/16 and 10.247.0.0/16');
  });
});
