import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { systemClock } from '../../src/util/clock.ts';
import type { ProviderLog } from '../contract/index.ts';
import { provider as docker } from '../docker/index.ts';
import { type ConformanceHarness, NODE, OTHER_NODE, RESTARTED_NODE } from './harness.ts';
import { conformance } from './suite.ts';

/** Says nothing: what a provider logs is no part of its contract. */
const silent: ProviderLog = { debug() {}, info() {}, warn() {}, error() {} };

/** On the engine of the test bed, which has the images. */
async function dockerHarness(config: object = {}): Promise<ConformanceHarness> {
  // Engines are shared: node names and networks of a run are its own.
  const run = randomUUID().slice(0, 8);
  const octet = 128 + (Number.parseInt(run.slice(0, 2), 16) >> 1);
  const abort = new AbortController();
  return {
    open: (node) =>
      docker.create(docker.parseConfig({ socketPath: inject('testBed').socket, ...config }), {
        nodeName: `${node}-${run}`,
        ownerLabels: { 'outrigger/node': `${node}-${run}`, 'outrigger/format': '1' },
        log: silent,
        clock: systemClock,
        signal: abort.signal,
      }),
    pass: (ms) => systemClock.sleep(ms, { signal: abort.signal }),
    subnet: (node) => `10.${octet}.${60 + [NODE, OTHER_NODE, RESTARTED_NODE].indexOf(node)}.0/24`,
    shellImage: 'registry.k8s.io/e2e-test-images/busybox:1.37.0-1',
    missingImage: 'localhost/outrigger-no-such-image:1',
    logsKeepBytes: false,
    executesShell: true,
    enforcesLimits: true,
    // A relay starts a process in a container for each.
    manyConnections: 'portForward' in config ? 20 : 100,
    // The nc of busybox ends with its connection's input.
    dialKeepsHalves: !('portForward' in config),
    dispose: async () => abort.abort(),
  };
}

conformance('docker', 'container', dockerHarness, { concurrent: true });
conformance('docker, relayed', 'container', () => dockerHarness({ portForward: 'relay' }), { only: ['dialling'] });
