import type {
  DeviceUsage,
  FileSystemUsage,
  InterfaceUsage,
  MemoryUsage,
  NetworkUsage,
  Pressure,
  TaskUsage,
} from '../../providers/contract/index.ts';
import type { Family, Labels, Sample } from './exposition.ts';

/** Names, help texts and types are cAdvisor's (metrics/prometheus.go), also where a linter would choose others. */

export interface Row {
  readonly labels: Labels;
  readonly task: TaskUsage;
  readonly network?: NetworkUsage;
  readonly startedMs?: number;
}

type Told = Omit<Sample, 'timeMs'>;
type Head = Omit<Family, 'samples'>;
type TaskFamily = Head & { readonly tell: (row: Row) => readonly Told[] };

const NANOS = 1e9;
const MICROS = 1e6;

function one(
  type: Family['type'],
  name: string,
  help: string,
  pick: (task: TaskUsage) => number | undefined,
  extra: Labels = {},
): TaskFamily {
  return {
    name,
    help,
    type,
    tell: ({ task, labels }) => {
      const value = pick(task);
      return value === undefined ? [] : [{ labels: { ...labels, ...extra }, value }];
    },
  };
}

function memory(name: string, help: string, key: Exclude<keyof MemoryUsage, 'pressure'>): TaskFamily {
  return one('gauge', `container_memory_${name}`, help, (task) => task.memory?.[key]);
}

function seconds(nanos: number | undefined): number | undefined {
  return nanos === undefined ? undefined : nanos / NANOS;
}

const CONGESTION: readonly (readonly [of: string, title: string, pick: (task: TaskUsage) => Pressure | undefined])[] = [
  ['cpu', 'CPU', (task) => task.cpu?.pressure],
  ['memory', 'memory', (task) => task.memory?.pressure],
  ['io', 'IO', (task) => task.io?.pressure],
];

const PRESSURE: readonly TaskFamily[] = CONGESTION.flatMap(([of, title, pick]) => {
  const total = (line: 'some' | 'full') => (task: TaskUsage) => {
    const micros = pick(task)?.[line].totalMicros;
    return micros === undefined ? undefined : micros / MICROS;
  };
  return [
    one(
      'counter',
      `container_pressure_${of}_stalled_seconds_total`,
      `Total time duration no tasks in the container could make progress due to ${title} congestion.`,
      total('full'),
    ),
    one(
      'counter',
      `container_pressure_${of}_waiting_seconds_total`,
      `Total time duration tasks in the container have waited due to ${title} congestion.`,
      total('some'),
    ),
  ];
});

export const PER_TASK: readonly TaskFamily[] = [
  one(
    'counter',
    'container_cpu_usage_seconds_total',
    'Cumulative cpu time consumed in seconds.',
    ({ cpu }) => seconds(cpu?.usageNanos),
    { cpu: 'total' },
  ),
  one('counter', 'container_cpu_user_seconds_total', 'Cumulative user cpu time consumed in seconds.', ({ cpu }) =>
    seconds(cpu?.userNanos),
  ),
  one('counter', 'container_cpu_system_seconds_total', 'Cumulative system cpu time consumed in seconds.', ({ cpu }) =>
    seconds(cpu?.systemNanos),
  ),
  one(
    'counter',
    'container_cpu_cfs_periods_total',
    'Number of elapsed enforcement period intervals.',
    ({ cpu }) => cpu?.throttling?.periods,
  ),
  one(
    'counter',
    'container_cpu_cfs_throttled_periods_total',
    'Number of throttled period intervals.',
    ({ cpu }) => cpu?.throttling?.throttledPeriods,
  ),
  one(
    'counter',
    'container_cpu_cfs_throttled_seconds_total',
    'Total time duration the container has been throttled.',
    ({ cpu }) => seconds(cpu?.throttling?.throttledNanos),
  ),
  memory('cache', 'Number of bytes of page cache memory.', 'cacheBytes'),
  memory('rss', 'Size of RSS in bytes.', 'rssBytes'),
  memory('kernel_usage', 'Size of kernel memory allocated in bytes.', 'kernelBytes'),
  memory('mapped_file', 'Size of memory mapped files in bytes.', 'mappedFileBytes'),
  memory('swap', 'Container swap usage in bytes.', 'swapBytes'),
  memory(
    'usage_bytes',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    'usageBytes',
  ),
  memory('max_usage_bytes', 'Maximum memory usage recorded in bytes', 'maxUsageBytes'),
  memory('working_set_bytes', 'Current working set in bytes.', 'workingSetBytes'),
  memory('total_active_file_bytes', 'Current total active file in bytes.', 'activeFileBytes'),
  memory('total_inactive_file_bytes', 'Current total inactive file in bytes.', 'inactiveFileBytes'),
  one('counter', 'container_memory_failcnt', 'Number of memory usage hits limits', (task) => task.memory?.limitHits),
  {
    name: 'container_memory_failures_total',
    help: 'Cumulative count of memory allocation failures.',
    type: 'counter',
    tell: ({ task, labels }) =>
      (
        [
          ['pgfault', task.memory?.pageFaults],
          ['pgmajfault', task.memory?.majorPageFaults],
        ] as const
      ).flatMap(([failure, value]) =>
        ['container', 'hierarchy'].flatMap((scope) =>
          value === undefined ? [] : [{ labels: { ...labels, failure_type: failure, scope }, value }],
        ),
      ),
  },
  one(
    'counter',
    'container_oom_events_total',
    'Count of out of memory events observed for the container',
    (task) => task.memory?.oomKills,
  ),
  one(
    'gauge',
    'container_processes',
    'Number of processes running inside the container.',
    ({ processes }) => processes?.processes,
  ),
  one(
    'gauge',
    'container_threads',
    'Number of threads running inside the container',
    ({ processes }) => processes?.threads,
  ),
  one(
    'gauge',
    'container_threads_max',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    ({ processes }) => (processes?.threads === undefined ? undefined : (processes.threadsMax ?? 0)),
  ),
  one('gauge', 'container_last_seen', 'Last time a container was seen by the exporter', ({ timeMs }) =>
    Math.floor(timeMs / 1000),
  ),
  one('gauge', 'container_spec_memory_limit_bytes', 'Memory limit for the container.', (task) =>
    task.memory === undefined ? undefined : (task.memory.limitBytes ?? 0),
  ),
  one(
    'gauge',
    'container_spec_memory_swap_limit_bytes',
    'Memory swap limit for the container.',
    ({ memory: usage }) => {
      // cAdvisor's number is that of cgroup v1: memory and swap together. 0 where there is no limit.
      if (usage?.swapBytes === undefined) return undefined;
      return usage.swapLimitBytes === undefined ? 0 : usage.swapLimitBytes + (usage.limitBytes ?? 0);
    },
  ),
  ...PRESSURE,
];

function perDevice(name: string, help: string, pick: (device: DeviceUsage) => number | undefined): TaskFamily {
  return {
    name: `container_fs_${name}_total`,
    help: `Cumulative count of ${help}`,
    type: 'counter',
    tell: ({ task, labels }) =>
      (task.io?.devices ?? []).flatMap((device) => {
        const value = pick(device);
        return value === undefined ? [] : [{ labels: { ...labels, device: deviceName(device) }, value }];
      }),
  };
}

/** What the kernel calls it lies in /sys of a machine that may be far away. */
function deviceName({ major, minor }: DeviceUsage): string {
  return `${major}:${minor}`;
}

export const PER_DEVICE: readonly TaskFamily[] = [
  perDevice('reads', 'reads completed', ({ reads }) => reads),
  perDevice('reads_bytes', 'bytes read', ({ readBytes }) => readBytes),
  perDevice('writes', 'writes completed', ({ writes }) => writes),
  perDevice('writes_bytes', 'bytes written', ({ writeBytes }) => writeBytes),
  {
    name: 'container_blkio_device_usage_total',
    help: 'Blkio Device bytes usage',
    type: 'counter',
    tell: ({ task, labels }) =>
      (task.io?.devices ?? []).flatMap((device) =>
        (
          [
            ['Read', device.readBytes],
            ['Write', device.writeBytes],
          ] as const
        ).flatMap(([operation, value]) => {
          if (value === undefined) return [];
          const { major, minor } = device;
          const extra = { device: deviceName(device), major: `${major}`, minor: `${minor}`, operation };
          return [{ labels: { ...labels, ...extra }, value }];
        }),
      ),
  },
];

type InterfaceFamily = Head & { readonly tell: (usage: InterfaceUsage) => number | undefined };

const DIRECTIONS = [
  ['receive', 'rx', 'received', 'receiving'],
  ['transmit', 'tx', 'transmitted', 'transmitting'],
] as const;

export const PER_INTERFACE: readonly InterfaceFamily[] = DIRECTIONS.flatMap(([word, prefix, done, doing]) => {
  const family = (name: string, help: string, key: Exclude<keyof InterfaceUsage, 'name'>): InterfaceFamily => ({
    name: `container_network_${word}_${name}_total`,
    help: `Cumulative count of ${help}`,
    type: 'counter',
    tell: (usage) => usage[key],
  });
  return [
    family('bytes', `bytes ${done}`, `${prefix}Bytes`),
    family('packets', `packets ${done}`, `${prefix}Packets`),
    family('packets_dropped', `packets dropped while ${doing}`, `${prefix}Dropped`),
    family('errors', `errors encountered while ${doing}`, `${prefix}Errors`),
  ];
});

export interface FileSystemRow {
  readonly labels: Labels;
  readonly fs: FileSystemUsage;
  readonly timeMs: number;
}

function perFileSystem(name: string, help: string, pick: (fs: FileSystemUsage) => number | undefined) {
  return {
    name: `container_fs_${name}`,
    help,
    type: 'gauge' as const,
    tell: ({ labels, fs, timeMs }: FileSystemRow): readonly Sample[] => {
      const value = pick(fs);
      return value === undefined ? [] : [{ labels: { ...labels, device: fs.id }, value, timeMs }];
    },
  };
}

export const PER_FILE_SYSTEM = [
  perFileSystem('inodes_free', 'Number of available Inodes', ({ inodesFree }) => inodesFree),
  perFileSystem('inodes_total', 'Number of Inodes', ({ inodes }) => inodes),
  perFileSystem(
    'limit_bytes',
    'Number of bytes that can be consumed by the container on this filesystem.',
    ({ capacityBytes }) => capacityBytes,
  ),
  perFileSystem(
    'usage_bytes',
    'Number of bytes that are consumed by the container on this filesystem.',
    ({ usedBytes }) => usedBytes,
  ),
];
