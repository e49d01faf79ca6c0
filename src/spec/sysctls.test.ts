import { expect, it } from 'vitest';
import { makePod } from '../testing/builders.ts';
import { forbiddenSysctl, normalSysctl } from './sysctls.ts';

const check = (name: string, spec: object = {}): string | undefined =>
  forbiddenSysctl(makePod({ spec: { ...spec, securityContext: { sysctls: [{ name, value: '1' }] } } }));

it.each<[string, object, string | undefined]>([
  ['kernel.shm_rmid_forced', {}, undefined],
  ['net/ipv4/tcp_syncookies', {}, undefined],
  ['kernel.shm_rmid_forced', { hostNetwork: true }, undefined],
  ['net.ipv4.tcp_syncookies', { hostIPC: true }, undefined],
  ['kernel.msgmax', {}, 'forbidden sysctl: "kernel.msgmax" not allowlisted'],
  ['net/core/somaxconn', {}, 'forbidden sysctl: "net.core.somaxconn" not allowlisted'],
  [
    'kernel.shm_rmid_forced',
    { hostIPC: true },
    'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled',
  ],
  [
    'net.ipv4.tcp_syncookies',
    { hostNetwork: true },
    'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
  ],
])('%s in a pod with %j', (name, spec, expected) => {
  expect(check(name, spec)).toBe(expected);
});

it('a pod without sysctls is not asked', () => {
  expect(forbiddenSysctl(makePod())).toBeUndefined();
});

it('a name with slashes first is turned around, dots in it included', () => {
  expect(normalSysctl('net/ipv4/conf/eth0.1/x')).toBe('net.ipv4.conf.eth0/1.x');
  expect(normalSysctl('net.ipv4.conf.eth0/1.x')).toBe('net.ipv4.conf.eth0/1.x');
});
