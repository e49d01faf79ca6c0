import type { FakeMethod } from '../../providers/fake/faults.ts';

/** What a worker and the PLEG ask of a backend, for tests that let each call fail. */
export const PROVIDER_METHODS: Record<'container' | 'pod', readonly FakeMethod[]> = {
  container: [
    'ensureSandbox',
    'pullImage',
    'startContainer',
    'stopContainer',
    'removeContainer',
    'stopSandbox',
    'removeSandbox',
    'inspect',
    'list',
    'watch',
  ],
  pod: ['launchPod', 'stopPod', 'removePod', 'inspect', 'list', 'watch'],
};
