import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeBackend } from '../providers/fake/backend.ts';
import { FakeContainerProvider } from '../providers/fake/container-provider.ts';
import { parseConfig } from '../providers/fake/schema.ts';
import { loadConfig } from './config/load.ts';
import { ApiClient } from './kube/client.ts';
import { ServiceStore } from './kube/services.ts';
import { PodNetworks } from './node/pod-networks.ts';
import { healthz } from './server/health.ts';
import { ProcessMetrics } from './telemetry/metrics/process-metrics.ts';
import { FakeClock } from './testing/fake-clock.ts';
import { FakeKube, list, until } from './testing/fake-kube.ts';
import { silentLog } from './testing/silent-log.ts';
import { VirtualNode } from './virtual-node.ts';

let kube: FakeKube;
let client: ApiClient;
let clock: FakeClock;
let backend: FakeBackend;
let stop: AbortController;
let node: VirtualNode;

beforeEach(async () => {
  kube = await FakeKube.start();
  kube.answer = ({ query }) => (query.has('watch') ? 'watch' : list('1', []));
  clock = new FakeClock();
  client = new ApiClient({ credentials: kube.credentials, clock });
  backend = new FakeBackend(clock, parseConfig({}));
  stop = new AbortController();
  const config = await loadConfig(
    { provider: 'fake', 'self-signed-serving-certificate': 'true' },
    { hostname: 'n', cwd: '/', readFile: () => Promise.reject(new Error('there are no files')) },
  );
  const [nodeConfig] = config.nodes;
  if (nodeConfig === undefined) throw new Error('expected a node');
  const log = silentLog();
  node = new VirtualNode({
    config,
    node: nodeConfig,
    provider: new FakeContainerProvider(backend, { nodeName: 'n', ownerLabels: {} }),
    productVersion: '0',
    startedAtMs: clock.now(),
    setVerbosity: () => {},
    client,
    processMetrics: new ProcessMetrics({ version: '0', kubernetesVersion: 'v1.36.3' }),
    services: new ServiceStore({ client, clock, log }),
    networks: new PodNetworks([]),
    clock,
    random: () => 0.5,
    log,
    signal: stop.signal,
  });
});

afterEach(async () => {
  stop.abort();
  backend.dispose();
  client.close();
  await kube.stop();
});

const failed = (): readonly string[] => healthz(node.checks, new URLSearchParams()).failed;

it('is healthy before anybody has answered', () => {
  expect(healthz(node.checks, new URLSearchParams('verbose')).body).toBe(
    '[+]pleg-n ok\n[+]pod-watch-n ok\nhealthz check passed\n',
  );
});

it('is unhealthy when the API server said nothing for ten minutes, until it does', async () => {
  void node.pods.run();
  const watch = await kube.nextWatch();
  await until(() => node.pods.watchAgeMs === 0);
  kube.answer = () => 'cut';
  watch.cut();
  await clock.advance(600_000);
  expect(failed()).toEqual([]);
  await clock.advance(1_000);
  expect(failed()).toEqual(['pod-watch-n: the API server was last heard 601 s ago']);
  kube.answer = () => 'watch';
  await clock.advance(20_000);
  await until(() => failed().length === 0);
});

it('is unhealthy when the backend could not be listed for three minutes', async () => {
  void node.pods.run();
  await node.pods.synced();
  backend.faults.setUnavailable('gone');
  await clock.advance(181_000);
  expect(failed()).toEqual([expect.stringMatching(/^pleg-n: pleg was last seen active 1\d\d s ago$/)]);
});
