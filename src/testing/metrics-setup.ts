import type { Pressure, TaskUsage } from '../../providers/contract/index.ts';
import { cadvisorMetrics } from '../stats/cadvisor-metrics.ts';
import { resourceMetrics } from '../stats/resource-metrics.ts';
import { NodeMetrics } from '../telemetry/metrics/node-metrics.ts';
import { ProcessMetrics } from '../telemetry/metrics/process-metrics.ts';
import { MEASURED_MS, makeHostUsage, makePodUsage, makeStorage, makeView } from './stats-setup.ts';

/** One for all tests of a file: it looks at the event loop for the rest of the process's life. */
export function makeProcessMetrics(): ProcessMetrics {
  const metrics = new ProcessMetrics({ version: '1.2.3', kubernetesVersion: 'v1.36.3' });
  metrics.clientCertificate(() => undefined).renewFailed();
  return metrics;
}

export function makeNodeMetrics(shared: ProcessMetrics): NodeMetrics {
  const counts = {
    desired: () => 3,
    active: () => 2,
    working: () => [{ lifecycle: 'sync', config: 'desired', count: 2 }],
    running: () => 2,
    containers: () => new Map([['running', 4]]),
    turning: () => 1,
    queued: () => 7,
    unwritten: () => 5,
  };
  const checks = () => [
    { name: 'ping', check: () => undefined },
    { name: 'pleg', check: () => 'it is stuck' },
  ];
  return new NodeMetrics({ nodeName: 'n1', counts, checks, shared });
}

/** One of everything happened, so that every series is there. */
export function makeUsedNodeMetrics(shared: ProcessMetrics): NodeMetrics {
  const metrics = makeNodeMetrics(shared);
  metrics.pods.turn('create', 0.1, true);
  metrics.pods.workerStarted(0.1, 2);
  metrics.pods.orphanFound();
  metrics.pods.rejected('OutOfcpu');
  metrics.pods.podRunning({ sinceSeen: 1, sinceCreated: 2, pulling: 0.5 });
  metrics.pods.sandboxMade(false);
  metrics.pods.containerStarted('container', 'ErrImagePull');
  metrics.pods.containerEnded('container', 137, 'OOMKilled');
  metrics.pods.statusWritten(0.2, 0.1);
  metrics.pleg.relisted(1_000, 1_500, true);
  metrics.pleg.relisted(2_000, 2_500, false);
  metrics.pleg.podAsked(0.1);
  metrics.runtime.called('ensureSandbox', 'run_podsandbox', 0.2, 'Internal');
  metrics.images.pulled(3, 5_000_000);
  metrics.images.asked('IfNotPresent', 'false', 'true');
  metrics.http.began('GET', '/metrics/cadvisor?x=1', 'readwrite')();
  metrics.http.streamOpened('exec', 'v5.channel.k8s.io', 'websocket')();
  metrics.watches.add({ resource: 'pods', ageMs: () => 1_500, restarts: () => 2, relists: () => 1 });
  const probe = { probeType: 'Liveness', container: 'c', pod: 'p', namespace: 'ns', podUid: 'u' };
  metrics.probes.answered(probe, 'successful', 0.01);
  shared.api.requested('GET', 'api', 200, 0.01);
  const serving = metrics.servingCertificate(() => 3_600);
  serving.rotated(86_400);
  serving.renewFailed();
  return metrics;
}

/** Every page of a node, by its path, with everything in it that there can be. */
export async function metricPages(): Promise<ReadonlyMap<string, string>> {
  const metrics = makeUsedNodeMetrics(makeProcessMetrics());
  const task = fullTask();
  const view = makeView({
    usage: [
      makePodUsage({
        containers: [{ name: 'c', attempt: 0, ...task }],
        sandbox: { id: 'sandbox', image: 'pause:3', ...task, cgroup: '/docker/sandbox' },
        network: network('eth0'),
      }),
    ],
    host: makeHostUsage({ ...task, network: network('ens3') }),
    storage: makeStorage(),
  });
  return new Map([
    ['/metrics', await metrics.main()],
    ['/metrics/probes', await metrics.probing()],
    ['/metrics/slis', await metrics.slis()],
    ['/metrics/resource', resourceMetrics(view)],
    ['/metrics/cadvisor', cadvisorMetrics(view)],
  ]);
}

/** Measured by a backend that can say everything. */
function fullTask(): TaskUsage {
  const line = { totalMicros: 5_000, avg10: 0, avg60: 0, avg300: 0 };
  const pressure: Pressure = { some: line, full: line };
  return {
    timeMs: MEASURED_MS,
    cgroup: '/docker/c-0',
    cpu: {
      usageNanos: 3e9,
      userNanos: 2e9,
      systemNanos: 1e9,
      throttling: { periods: 10, throttledPeriods: 2, throttledNanos: 1e8 },
      pressure,
    },
    memory: {
      usageBytes: 3000,
      workingSetBytes: 2000,
      rssBytes: 1500,
      cacheBytes: 900,
      mappedFileBytes: 100,
      activeFileBytes: 200,
      inactiveFileBytes: 300,
      kernelBytes: 50,
      maxUsageBytes: 4000,
      limitBytes: 10_000,
      swapBytes: 0,
      swapLimitBytes: 0,
      pageFaults: 7,
      majorPageFaults: 1,
      limitHits: 0,
      oomKills: 0,
      pressure,
    },
    io: { devices: [{ major: 8, minor: 0, readBytes: 1, writeBytes: 2, reads: 3, writes: 4 }], pressure },
    processes: { processes: 2, threads: 3, threadsMax: 100 },
  };
}

function network(name: string) {
  const rx = { rxBytes: 1, rxPackets: 1, rxErrors: 0, rxDropped: 0 };
  const tx = { txBytes: 2, txPackets: 2, txErrors: 0, txDropped: 0 };
  return { timeMs: MEASURED_MS, interfaces: [{ name, ...rx, ...tx }] };
}
