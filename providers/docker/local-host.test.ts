import { expect, it } from 'vitest';
import { hasServerForPods } from './local-host.ts';

it('pods can use the servers of a resolv.conf that are not on a loopback address', () => {
  expect(hasServerForPods('search a\nnameserver 10.0.0.53\n')).toBe(true);
  expect(hasServerForPods('nameserver 127.0.0.53\nnameserver 10.0.0.53\n')).toBe(true);
  expect(hasServerForPods('# nameserver 10.0.0.53\nnameserver 127.0.0.53\nnameserver ::1\n')).toBe(false);
  expect(hasServerForPods('')).toBe(false);
});
