import { expect, it } from 'vitest';
import { makePod } from '../testing/builders.ts';
import { podHostname } from './names.ts';

// GeneratePodHostNameAndDomain and truncatePodHostnameIfNeeded in the kubelet; reference 10.6.
it('is the name of the pod unless the pod names one', () => {
  expect(podHostname(makePod({ metadata: { name: 'web-0' } }))).toBe('web-0');
  expect(podHostname(makePod({ spec: { hostname: 'custom' } }))).toBe('custom');
  expect(podHostname(makePod({ spec: { hostname: '' } }))).toBe('p');
});

it('is cut to 63 characters and does not end in a dash or dot then', () => {
  const long = `${'a'.repeat(60)}-.-${'b'.repeat(20)}`;
  expect(podHostname(makePod({ metadata: { name: long } }))).toBe('a'.repeat(60));
  const whole = 'b'.repeat(63);
  expect(podHostname(makePod({ metadata: { name: whole } }))).toBe(whole);
});

it("is empty on the node's own network", () => {
  expect(podHostname(makePod({ spec: { hostNetwork: true, hostname: 'x' } }))).toBe('');
});
