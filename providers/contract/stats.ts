/**
 * What pods and their machine use. Whatever a backend cannot say is absent, never zero: an invented zero scales a Deployment
 * down and evicts nobody. Counters are cumulative since the start of what they count; bytes and nanoseconds are plain numbers.
 */

import type { CallOptions } from './call.ts';
import type { PodIdentity } from './spec.ts';

/**
 * The core asks in the background (`usage` and `host` every 10 s, `storage` every minute) and keeps what it needs for rates; no
 * request of a client waits for these. Each call throws as every other one does: a backend that could not be asked has no usage.
 */
export interface StatsFacet {
  /** Every pod of the node of which something runs, in one call. A container that ended while it was measured is left out. */
  usage(options: CallOptions): Promise<readonly PodUsage[]>;
  /** Bytes on disk. May take long and cost much: walking file systems. Pods of which nothing is known are left out. */
  storage(options: CallOptions): Promise<StorageUsage>;
  /** The machine, fleet or account behind the node. */
  host(options: CallOptions): Promise<HostUsage>;
}

export interface PodUsage {
  readonly pod: PodIdentity;
  /** Running incarnations only. */
  readonly containers: readonly ContainerUsage[];
  /** What holds the pod's network, where that is a process of its own. */
  readonly sandbox?: SandboxUsage;
  /** The whole pod, where the backend measures it as one (a pod cgroup, a task); otherwise the core adds up. */
  readonly total?: TaskUsage;
  /** Of the network that the pod's containers share. */
  readonly network?: NetworkUsage;
}

export interface ContainerUsage extends TaskUsage {
  readonly name: string;
  readonly attempt: number;
}

export interface SandboxUsage extends TaskUsage {
  readonly id: string;
  readonly image?: string;
}

/** One group of processes. */
export interface TaskUsage {
  /** When this was measured: milliseconds since the epoch, by the clock of whoever measured. May have a fraction. */
  readonly timeMs: number;
  /** Path below the root of the control groups, where it is known ("/docker/ID"). */
  readonly cgroup?: string;
  readonly cpu?: CpuUsage;
  readonly memory?: MemoryUsage;
  readonly io?: IoUsage;
  readonly processes?: ProcessUsage;
}

export interface CpuUsage {
  readonly usageNanos: number;
  readonly userNanos?: number;
  readonly systemNanos?: number;
  /** Only where a quota is set. */
  readonly throttling?: {
    readonly periods: number;
    readonly throttledPeriods: number;
    readonly throttledNanos: number;
  };
  readonly pressure?: Pressure;
}

export interface MemoryUsage {
  readonly usageBytes?: number;
  /** Usage without what the kernel would give back first: usage − inactive file pages, at least 0 (the kubelet's formula). */
  readonly workingSetBytes?: number;
  /** Anonymous memory. */
  readonly rssBytes?: number;
  readonly cacheBytes?: number;
  readonly mappedFileBytes?: number;
  readonly activeFileBytes?: number;
  readonly inactiveFileBytes?: number;
  readonly kernelBytes?: number;
  readonly maxUsageBytes?: number;
  /** Absent where there is no limit. */
  readonly limitBytes?: number;
  readonly swapBytes?: number;
  /** Absent where there is no limit; 0 where swapping is forbidden. */
  readonly swapLimitBytes?: number;
  /** Minor and major ones. */
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  /** How often the limit was hit. */
  readonly limitHits?: number;
  readonly oomKills?: number;
  readonly pressure?: Pressure;
}

export interface IoUsage {
  readonly devices: readonly DeviceUsage[];
  readonly pressure?: Pressure;
}

/** A block device. */
export interface DeviceUsage {
  readonly major: number;
  readonly minor: number;
  readonly readBytes?: number;
  readonly writeBytes?: number;
  readonly reads?: number;
  readonly writes?: number;
}

export interface ProcessUsage {
  readonly processes?: number;
  /** What a pids limit counts: threads. */
  readonly threads?: number;
  /** Absent where there is no limit. */
  readonly threadsMax?: number;
}

/** Pressure stall information, as the kernel tells it. */
export interface Pressure {
  readonly some: PressureLine;
  readonly full: PressureLine;
}

export interface PressureLine {
  readonly totalMicros: number;
  /** Percent over the last 10, 60 and 300 seconds. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface NetworkUsage {
  readonly timeMs: number;
  readonly interfaces: readonly InterfaceUsage[];
}

/** Seen from inside: received is what the pod received. */
export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes?: number;
  readonly rxPackets?: number;
  readonly rxErrors?: number;
  readonly rxDropped?: number;
  readonly txBytes?: number;
  readonly txPackets?: number;
  readonly txErrors?: number;
  readonly txDropped?: number;
}

export interface StorageUsage {
  readonly timeMs: number;
  readonly pods: readonly PodStorage[];
  /** All images together, layers that they share counted once. */
  readonly imageBytes?: number;
}

export interface PodStorage {
  readonly pod: PodIdentity;
  readonly containers: readonly ContainerStorage[];
  /** By the name that the pod gives them. */
  readonly volumes: readonly (DiskUsage & { readonly name: string })[];
}

export interface ContainerStorage {
  readonly name: string;
  readonly attempt: number;
  /** What the container wrote outside its volumes. */
  readonly rootfs?: DiskUsage;
  readonly logs?: DiskUsage;
}

/** What something occupies of a file system. */
export interface DiskUsage {
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
}

export interface HostUsage {
  readonly timeMs: number;
  readonly bootedAt?: Date;
  readonly cpuCores?: number;
  readonly cpu?: CpuUsage;
  /** `limitBytes` is what the machine has. Available memory (eviction) is limit − working set. */
  readonly memory?: MemoryUsage;
  readonly io?: IoUsage;
  /** The machine's own interfaces; those towards pods are left out. */
  readonly network?: NetworkUsage;
  readonly fileSystems?: HostFileSystems;
  readonly pids?: { readonly max?: number; readonly current?: number };
}

/**
 * The kubelet's three places; the same file system may be behind all of them, and then has the same id. A dedicated image file
 * system (eviction) is one with another id than `node`.
 */
export interface HostFileSystems {
  /** Logs and local volumes of pods. */
  readonly node?: FileSystemUsage;
  /** Images. */
  readonly image?: FileSystemUsage;
  /** What containers write. */
  readonly container?: FileSystemUsage;
}

/** A whole file system, whoever fills it. */
export interface FileSystemUsage extends DiskUsage {
  /** Names the file system on its machine; compared, and shown as `device`. */
  readonly id: string;
  readonly capacityBytes?: number;
  /** To unprivileged users, so that used + available may be less than the capacity. */
  readonly availableBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
}
