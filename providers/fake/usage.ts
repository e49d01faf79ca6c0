import type { CallOptions, HostUsage, PodStorage, PodUsage, StatsFacet, TaskUsage } from '../contract/index.ts';
import type { FakeBackend } from './backend.ts';
import type { FakeContainer } from './container.ts';
import type { FakeMethod } from './faults.ts';
import type { FakePod } from './pod.ts';
import type { FakeUse } from './schema.ts';

export interface FakeStatsDeps {
  readonly backend: FakeBackend;
  /** Pods of this node. */
  readonly pods: () => readonly FakePod[];
  /** Through the faults. */
  readonly call: <T>(method: FakeMethod, options: CallOptions, work: () => T) => Promise<T>;
}

const NANOS_PER_MILLI_MS = 1e3;
const SANDBOX_BYTES = 2 ** 20;
const FILE_SYSTEM = 'fake:0';
const INODES = 2 ** 24;
const PIDS = 2 ** 15;

/** What the scripts say that containers use, and a machine on which nothing else runs. */
export class FakeStats implements StatsFacet {
  readonly #deps: FakeStatsDeps;

  constructor(deps: FakeStatsDeps) {
    this.#deps = deps;
  }

  usage(options: CallOptions): Promise<readonly PodUsage[]> {
    const { backend, pods, call } = this.#deps;
    return call('usage', options, () =>
      pods()
        .filter(({ state }) => state !== 'stopped')
        .map((pod) => podUsage(pod, backend.clock.now())),
    );
  }

  storage(options: CallOptions) {
    const { backend, pods, call } = this.#deps;
    return call('storage', options, () => ({
      timeMs: backend.clock.now(),
      pods: pods().map(podStorage),
      imageBytes: 0,
    }));
  }

  host(options: CallOptions): Promise<HostUsage> {
    const { backend, call } = this.#deps;
    return call('hostUsage', options, () => ({ ...hostUsage(backend), ...backend.hostUsage }));
  }
}

function running(pod: FakePod): readonly FakeContainer[] {
  return [...pod.containers.values()].filter(({ state }) => state.status === 'running');
}

function podUsage(pod: FakePod, nowMs: number): PodUsage {
  const containers = running(pod);
  const ageSeconds = (nowMs - pod.createdAt.getTime()) / 1000;
  const bytes = (key: 'rxBytesPerSecond' | 'txBytesPerSecond'): number =>
    Math.floor(ageSeconds * containers.reduce((sum, { use }) => sum + (use[key] ?? 0), 0));
  return {
    pod: pod.identity,
    containers: containers.map((container) => ({
      name: container.spec.name,
      attempt: container.spec.attempt,
      ...taskUsage(container, nowMs),
    })),
    sandbox: {
      id: pod.unitId,
      image: 'fake/sandbox:1',
      timeMs: nowMs,
      cgroup: `/fake/${pod.unitId}`,
      cpu: { usageNanos: NANOS_PER_MILLI_MS },
      memory: memoryUsage(SANDBOX_BYTES),
    },
    network: {
      timeMs: nowMs,
      interfaces: [
        {
          name: 'eth0',
          rxBytes: bytes('rxBytesPerSecond'),
          rxPackets: 0,
          rxErrors: 0,
          rxDropped: 0,
          txBytes: bytes('txBytesPerSecond'),
          txPackets: 0,
          txErrors: 0,
          txDropped: 0,
        },
      ],
    },
  };
}

function taskUsage({ id, use, spec, cpuNanos }: FakeContainer, timeMs: number): TaskUsage {
  const limitBytes = spec.resources.memoryLimitBytes;
  return {
    timeMs,
    cgroup: `/fake/${id}`,
    cpu: { usageNanos: cpuNanos, userNanos: cpuNanos, systemNanos: 0 },
    memory: { ...memoryUsage(use.memoryBytes ?? 0), ...(limitBytes === undefined ? {} : { limitBytes }) },
    processes: { processes: use.processes ?? 1, threads: use.processes ?? 1 },
  };
}

function memoryUsage(bytes: number) {
  const faults = { pageFaults: 0, majorPageFaults: 0 };
  return { usageBytes: bytes, workingSetBytes: bytes, rssBytes: bytes, cacheBytes: 0, swapBytes: 0, ...faults };
}

function podStorage(pod: FakePod): PodStorage {
  const containers = [...pod.containers.values()];
  const named = new Map<string, number>();
  for (const { use } of containers)
    for (const [name, bytes] of Object.entries(use.volumeBytes ?? {})) named.set(name, bytes);
  return {
    pod: pod.identity,
    containers: containers.map(({ spec: { name, attempt }, use }) => ({
      name,
      attempt,
      rootfs: { usedBytes: use.rootfsBytes ?? 0, inodesUsed: 1 },
      logs: { usedBytes: use.logsBytes ?? 0, inodesUsed: 1 },
    })),
    volumes: [...pod.volumes.keys()].map((name) => ({ name, usedBytes: named.get(name) ?? 0, inodesUsed: 1 })),
  };
}

function hostUsage({ clock, config, pods, startedMs }: FakeBackend): HostUsage {
  const timeMs = clock.now();
  const containers = [...pods.values()].flatMap(running);
  const sum = (pick: (use: FakeUse) => number | undefined): number =>
    containers.reduce((total, { use }) => total + (pick(use) ?? 0), 0);
  const disk = sum(({ rootfsBytes = 0, logsBytes = 0 }) => rootfsBytes + logsBytes);
  const { memory, ephemeralStorage, cpu } = config.capacity;
  const fs = {
    id: FILE_SYSTEM,
    capacityBytes: ephemeralStorage,
    availableBytes: ephemeralStorage - disk,
    usedBytes: disk,
    inodes: INODES,
    inodesFree: INODES - containers.length,
    inodesUsed: containers.length,
  };
  const used = sum(({ memoryBytes }) => memoryBytes);
  return {
    timeMs,
    bootedAt: new Date(startedMs),
    cpuCores: cpu,
    // Also what has ended has used it; only growth is promised.
    cpu: {
      usageNanos:
        (timeMs - startedMs) *
        NANOS_PER_MILLI_MS *
        Math.max(
          1,
          sum(({ cpuMilli }) => cpuMilli),
        ),
    },
    memory: { ...memoryUsage(used), limitBytes: memory, swapLimitBytes: 0 },
    fileSystems: { node: fs, image: fs, container: fs },
    pids: { max: PIDS, current: sum(({ processes }) => processes ?? 1) },
  };
}
