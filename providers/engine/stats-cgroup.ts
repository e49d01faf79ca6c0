import type { CpuUsage, IoUsage, MemoryUsage, ProcessUsage, TaskUsage } from '../contract/index.ts';
import { ioUsageV1, ioUsageV2 } from './stats-io.ts';
import { pressure } from './stats-pressure.ts';
import { given, keyed, lineCount, numberIn } from './stats-text.ts';

/** Where the kernel keeps the numbers of one container. */
export type CgroupPlace =
  /** Directories by controller. */
  | { readonly version: 1; readonly path: string; readonly directories: Readonly<Partial<Record<Controller, string>>> }
  | { readonly version: 2; readonly path: string; readonly directory: string };

export type Controller = 'cpu' | 'cpuacct' | 'memory' | 'blkio' | 'pids';

/** undefined when there is no such file. These files never touch a disk, so that reading them at once is quicker than asking for it. */
export type ReadText = (file: string) => string | undefined;

/** undefined when the group is gone. */
export function readCgroup(place: CgroupPlace, nowMs: number, read: ReadText): TaskUsage | undefined {
  const parts = place.version === 1 ? readV1(place.directories, read) : readV2(place.directory, read);
  const usage = given<Omit<TaskUsage, 'timeMs'>>(parts);
  return usage === undefined ? undefined : { timeMs: nowMs, cgroup: place.path, ...usage };
}

/** A process of the group as this process can address it. */
export function firstPid(place: CgroupPlace, read: ReadText): number | undefined {
  const directory =
    place.version === 2
      ? place.directory
      : (place.directories.cpuacct ?? place.directories.memory ?? place.directories.pids);
  return numberIn(read(`${directory}/cgroup.procs`)?.split('\n')[0]);
}

interface Parts {
  readonly cpu: CpuUsage | undefined;
  readonly memory: MemoryUsage | undefined;
  readonly io: IoUsage | undefined;
  readonly processes: ProcessUsage | undefined;
}

function readV1(directories: Partial<Record<Controller, string>>, read: ReadText): Parts {
  const of =
    (controller: Controller) =>
    (file: string): string | undefined =>
      directories[controller] === undefined ? undefined : read(`${directories[controller]}/${file}`);
  return {
    cpu: cpuV1(of('cpuacct'), of('cpu')),
    memory: memoryV1(of('memory')),
    io: ioUsageV1(of('blkio')),
    processes: processesOf(of('pids')),
  };
}

function cpuV1(acct: ReadText, cpu: ReadText): CpuUsage | undefined {
  const usageNanos = numberIn(acct('cpuacct.usage'));
  if (usageNanos === undefined) return undefined;
  const stat = keyed(cpu('cpu.stat'));
  return {
    usageNanos,
    ...split(usageNanos, numberIn(acct('cpuacct.usage_user'))),
    ...throttling(stat, stat.get('throttled_time') ?? 0),
  };
}

/** The kernel shares out by ticks what it counts exactly: the parts may exceed the whole. */
function split(usageNanos: number, user: number | undefined): Pick<CpuUsage, 'userNanos' | 'systemNanos'> {
  if (user === undefined) return {};
  const userNanos = Math.min(user, usageNanos);
  return { userNanos, systemNanos: usageNanos - userNanos };
}

function cpuV2(read: ReadText): CpuUsage | undefined {
  const stat = keyed(read('cpu.stat'));
  const micros = stat.get('usage_usec');
  if (micros === undefined) return undefined;
  const nanos = (key: string): number | undefined => {
    const value = stat.get(key);
    return value === undefined ? undefined : value * 1000;
  };
  const userNanos = nanos('user_usec');
  const systemNanos = nanos('system_usec');
  const stalled = pressure(read('cpu.pressure'));
  return {
    usageNanos: micros * 1000,
    ...(userNanos === undefined ? {} : { userNanos }),
    ...(systemNanos === undefined ? {} : { systemNanos }),
    ...throttling(stat, nanos('throttled_usec') ?? 0),
    ...(stalled === undefined ? {} : { pressure: stalled }),
  };
}

/** Periods are counted only where there is a quota. */
function throttling(stat: ReadonlyMap<string, number>, throttledNanos: number): Pick<CpuUsage, 'throttling'> {
  const periods = stat.get('nr_periods') ?? 0;
  if (periods === 0) return {};
  return { throttling: { periods, throttledPeriods: stat.get('nr_throttled') ?? 0, throttledNanos } };
}

/** The kernel rounds "no limit" down to whole pages. */
const UNLIMITED = 2 ** 62;

function memoryV1(read: ReadText): MemoryUsage | undefined {
  const usageBytes = numberIn(read('memory.usage_in_bytes'));
  if (usageBytes === undefined) return undefined;
  const stat = keyed(read('memory.stat'));
  const limit = below(stat.get('hierarchical_memory_limit'), UNLIMITED);
  const both = below(stat.get('hierarchical_memsw_limit'), UNLIMITED);
  const inactive = stat.get('total_inactive_file');
  return given<MemoryUsage>({
    usageBytes,
    workingSetBytes: inactive === undefined ? undefined : Math.max(0, usageBytes - inactive),
    rssBytes: stat.get('total_rss'),
    cacheBytes: stat.get('total_cache'),
    mappedFileBytes: stat.get('total_mapped_file'),
    activeFileBytes: stat.get('total_active_file'),
    inactiveFileBytes: inactive,
    maxUsageBytes: numberIn(read('memory.max_usage_in_bytes')),
    limitBytes: limit,
    swapBytes: stat.get('total_swap'),
    swapLimitBytes: both === undefined || limit === undefined ? undefined : Math.max(0, both - limit),
    pageFaults: stat.get('total_pgfault'),
    majorPageFaults: stat.get('total_pgmajfault'),
    limitHits: numberIn(read('memory.failcnt')),
    oomKills: keyed(read('memory.oom_control')).get('oom_kill'),
  });
}

function memoryV2(read: ReadText): MemoryUsage | undefined {
  const usageBytes = numberIn(read('memory.current'));
  if (usageBytes === undefined) return undefined;
  const stat = keyed(read('memory.stat'));
  const events = keyed(read('memory.events'));
  const inactive = stat.get('inactive_file');
  return given<MemoryUsage>({
    usageBytes,
    workingSetBytes: inactive === undefined ? undefined : Math.max(0, usageBytes - inactive),
    rssBytes: stat.get('anon'),
    cacheBytes: stat.get('file'),
    mappedFileBytes: stat.get('file_mapped'),
    activeFileBytes: stat.get('active_file'),
    inactiveFileBytes: inactive,
    kernelBytes: stat.get('kernel'),
    maxUsageBytes: numberIn(read('memory.peak')),
    limitBytes: numberIn(read('memory.max')),
    swapBytes: numberIn(read('memory.swap.current')),
    swapLimitBytes: numberIn(read('memory.swap.max')),
    pageFaults: stat.get('pgfault'),
    majorPageFaults: stat.get('pgmajfault'),
    limitHits: events.get('max'),
    oomKills: events.get('oom_kill'),
    pressure: pressure(read('memory.pressure')),
  });
}

function readV2(directory: string, readAny: ReadText): Parts {
  const read: ReadText = (file) => readAny(`${directory}/${file}`);
  return { cpu: cpuV2(read), memory: memoryV2(read), io: ioUsageV2(read), processes: processesOf(read) };
}

function processesOf(read: ReadText): ProcessUsage | undefined {
  return given<ProcessUsage>({
    processes: lineCount(read('cgroup.procs')),
    threads: numberIn(read('pids.current')),
    threadsMax: numberIn(read('pids.max')),
  });
}

function below(value: number | undefined, bound: number): number | undefined {
  return value !== undefined && value < bound ? value : undefined;
}
