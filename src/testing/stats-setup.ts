import type { HostUsage, ObservedPod, PodUid, PodUsage, StorageUsage } from '../../providers/contract/index.ts';
import { buildView, type StatsView, type ViewInput } from '../stats/view.ts';
import { makeObservedContainer, makeObservedPod, running, START_MS } from './builders.ts';

/** A pod `p` with container `c`, measured ten seconds after its start, on a machine of which everything is known. */

export const MEASURED_MS = START_MS + 10_123;
const UID = '11111111-2222-3333-4444-555555555555' as PodUid;

export function makePodUsage(overrides: Partial<PodUsage> = {}): PodUsage {
  return {
    pod: { uid: UID, namespace: 'ns', name: 'p' },
    containers: [
      {
        name: 'c',
        attempt: 0,
        timeMs: MEASURED_MS,
        cgroup: '/docker/c-0',
        cpu: { usageNanos: 2_500_000_000, userNanos: 2_000_000_000, systemNanos: 500_000_000 },
        memory: { usageBytes: 3000, workingSetBytes: 2000, rssBytes: 1500, limitBytes: 10_000, pageFaults: 7 },
        processes: { processes: 2, threads: 3 },
      },
    ],
    sandbox: {
      id: 'sandbox',
      image: 'pause:3',
      timeMs: MEASURED_MS,
      cgroup: '/docker/sandbox',
      cpu: { usageNanos: 500_000_000 },
      memory: { usageBytes: 300, workingSetBytes: 200, rssBytes: 100, pageFaults: 1 },
      processes: { processes: 1 },
    },
    network: {
      timeMs: MEASURED_MS,
      interfaces: [{ name: 'eth0', rxBytes: 11, rxErrors: 0, txBytes: 22, txErrors: 1 }],
    },
    ...overrides,
  };
}

export function makeHostUsage(overrides: Partial<HostUsage> = {}): HostUsage {
  const fs = { id: '8:1', capacityBytes: 1000, availableBytes: 600, usedBytes: 350, inodes: 100, inodesFree: 90 };
  return {
    timeMs: MEASURED_MS,
    bootedAt: new Date(START_MS - 60_000),
    cpuCores: 4,
    cpu: { usageNanos: 100_000_000_000 },
    memory: { usageBytes: 5000, workingSetBytes: 4000, limitBytes: 16_000, swapBytes: 0, swapLimitBytes: 0 },
    network: { timeMs: MEASURED_MS, interfaces: [{ name: 'ens3', rxBytes: 1, txBytes: 2 }] },
    fileSystems: { node: fs, image: fs, container: fs },
    pids: { max: 32_768, current: 200 },
    ...overrides,
  };
}

export function makeStorage(overrides: Partial<StorageUsage> = {}): StorageUsage {
  return {
    timeMs: START_MS,
    pods: [
      {
        pod: { uid: UID, namespace: 'ns', name: 'p' },
        containers: [{ name: 'c', attempt: 0, rootfs: { usedBytes: 40 }, logs: { usedBytes: 5 } }],
        volumes: [],
      },
    ],
    imageBytes: 123,
    ...overrides,
  };
}

export function makeObserved(overrides: Partial<ObservedPod> = {}): ObservedPod {
  return makeObservedPod({ containers: [makeObservedContainer('c', running(START_MS + 1_500))], ...overrides });
}

export function makeView(overrides: Partial<ViewInput> = {}): StatsView {
  return buildView({
    nodeName: 'node',
    usage: [makePodUsage()],
    host: makeHostUsage(),
    rate: () => undefined,
    observed: () => makeObserved(),
    desired: () => undefined,
    ...overrides,
  });
}
