import type Docker from 'dockerode';
import type { CpuUsage, InterfaceUsage, IoUsage, MemoryUsage, TaskUsage } from '../contract/index.ts';
import { devices, keyOf } from './stats-io.ts';
import { given } from './stats-text.ts';

/** What the engine's API says of one container, in the contract's words. Pure. */

/** The client library's types promise every field; an engine leaves out what its kernel does not tell. */
export type ApiStats = DeepPartial<Docker.ContainerStats>;
type DeepPartial<T> = T extends object ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> } : T;

/** `machineBytes`: an engine shows the machine's memory where there is no limit. */
export function taskUsage(stats: ApiStats, nowMs: number, machineBytes: number | undefined): TaskUsage | undefined {
  const read = Date.parse(stats.read ?? '');
  const usage = given<Omit<TaskUsage, 'timeMs'>>({
    cgroup: undefined,
    cpu: cpuUsage(stats),
    memory: memoryUsage(stats, machineBytes),
    io: ioUsage(stats),
    processes:
      positive(stats.pids_stats?.current) === undefined ? undefined : { threads: stats.pids_stats?.current ?? 0 },
  });
  // Year 1: the container ended before it was measured.
  const ended = Number.isNaN(read) || read <= 0;
  return usage === undefined || (ended && usage.cpu === undefined)
    ? undefined
    : { timeMs: ended ? nowMs : read, ...usage };
}

function cpuUsage({ cpu_stats: stats }: ApiStats): CpuUsage | undefined {
  // 0 is what an engine says of a container that is no longer there; one that runs has used something.
  const usageNanos = positive(stats?.cpu_usage?.total_usage);
  if (usageNanos === undefined) return undefined;
  const userNanos = stats?.cpu_usage?.usage_in_usermode;
  const systemNanos = stats?.cpu_usage?.usage_in_kernelmode;
  const periods = stats?.throttling_data?.periods ?? 0;
  return {
    usageNanos,
    ...(userNanos === undefined ? {} : { userNanos }),
    ...(systemNanos === undefined ? {} : { systemNanos }),
    ...(periods === 0
      ? {}
      : {
          throttling: {
            periods,
            throttledPeriods: stats?.throttling_data?.throttled_periods ?? 0,
            throttledNanos: stats?.throttling_data?.throttled_time ?? 0,
          },
        }),
  };
}

function memoryUsage({ memory_stats: memory }: ApiStats, machineBytes: number | undefined): MemoryUsage | undefined {
  const usageBytes = positive(memory?.usage);
  if (usageBytes === undefined) return undefined;
  // The names of cgroup v1 and v2, side by side; a number for every name, whatever the types say of which there are.
  const stat: Readonly<Record<string, number | undefined>> = { ...memory?.stats };
  const inactive = stat['total_inactive_file'] ?? stat['inactive_file'];
  const limit = memory?.limit;
  return given<MemoryUsage>({
    usageBytes,
    workingSetBytes: inactive === undefined ? undefined : Math.max(0, usageBytes - inactive),
    rssBytes: stat['total_rss'] ?? stat['anon'],
    cacheBytes: stat['total_cache'] ?? stat['file'],
    mappedFileBytes: stat['total_mapped_file'] ?? stat['file_mapped'],
    activeFileBytes: stat['total_active_file'] ?? stat['active_file'],
    inactiveFileBytes: inactive,
    maxUsageBytes: positive(memory?.max_usage),
    limitBytes: limit === undefined || machineBytes === undefined || limit >= machineBytes ? undefined : limit,
    swapBytes: stat['total_swap'],
    pageFaults: stat['total_pgfault'] ?? stat['pgfault'],
    majorPageFaults: stat['total_pgmajfault'] ?? stat['pgmajfault'],
  });
}

interface BlkioEntry {
  readonly major?: number;
  readonly minor?: number;
  readonly op?: string;
  readonly value?: number;
}

function ioUsage({ blkio_stats: blkio }: ApiStats): IoUsage | undefined {
  if (blkio === undefined) return undefined;
  const told = (entries: readonly (BlkioEntry | undefined)[] | null | undefined, unit: 'bytes' | 'operations') =>
    (entries ?? []).flatMap((entry) => {
      const { major, minor, op = '', value } = entry ?? {};
      const key = keyOf(op, unit);
      if (key === undefined || major === undefined || minor === undefined || value === undefined) return [];
      return [{ major, minor, key, value }];
    });
  return {
    devices: devices([
      ...told(blkio.io_service_bytes_recursive, 'bytes'),
      ...told(blkio.io_serviced_recursive, 'operations'),
    ]),
  };
}

export function networkInterfaces({ networks }: ApiStats): readonly InterfaceUsage[] | undefined {
  if (networks === undefined) return undefined;
  return Object.entries(networks).map(([name, counters]) => ({
    name,
    ...given<Omit<InterfaceUsage, 'name'>>({
      rxBytes: counters?.rx_bytes,
      rxPackets: counters?.rx_packets,
      rxErrors: counters?.rx_errors,
      rxDropped: counters?.rx_dropped,
      txBytes: counters?.tx_bytes,
      txPackets: counters?.tx_packets,
      txErrors: counters?.tx_errors,
      txDropped: counters?.tx_dropped,
    }),
  }));
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}
