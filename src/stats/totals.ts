import type { CpuUsage, MemoryUsage, TaskUsage } from '../../providers/contract/index.ts';

/** A group of processes with what only two samples can tell. */
export interface Measured {
  readonly task: TaskUsage;
  /** Cores in use between the last two samples, in nanocores. */
  readonly nanoCores?: number;
}

/**
 * What several groups use together. A number that one of them lacks is lacking in the sum too: a partial sum would be a lie
 * that nobody can tell from the truth. undefined for no groups.
 */
export function total(parts: readonly Measured[]): Measured | undefined {
  if (parts.length === 0) return undefined;
  const tasks = parts.map(({ task }) => task);
  const nanoCores = sum(parts.map((part) => part.nanoCores));
  const cpu = totalCpu(tasks.map((task) => task.cpu));
  const memory = totalMemory(tasks.map((task) => task.memory));
  const processes = sum(tasks.map((task) => task.processes?.processes));
  return {
    task: {
      timeMs: Math.max(...tasks.map(({ timeMs }) => timeMs)),
      ...(cpu === undefined ? {} : { cpu }),
      ...(memory === undefined ? {} : { memory }),
      ...(processes === undefined ? {} : { processes: { processes } }),
    },
    ...(nanoCores === undefined ? {} : { nanoCores }),
  };
}

function totalCpu(parts: readonly (CpuUsage | undefined)[]): CpuUsage | undefined {
  const usageNanos = sum(parts.map((cpu) => cpu?.usageNanos));
  if (usageNanos === undefined) return undefined;
  const userNanos = sum(parts.map((cpu) => cpu?.userNanos));
  const systemNanos = sum(parts.map((cpu) => cpu?.systemNanos));
  return {
    usageNanos,
    ...(userNanos === undefined ? {} : { userNanos }),
    ...(systemNanos === undefined ? {} : { systemNanos }),
  };
}

type Bytes = Exclude<keyof MemoryUsage, 'pressure' | 'maxUsageBytes'>;

/** Peaks of different moments do not add up, and neither does pressure. */
const SUMMED: readonly Bytes[] = [
  'usageBytes',
  'workingSetBytes',
  'rssBytes',
  'cacheBytes',
  'mappedFileBytes',
  'activeFileBytes',
  'inactiveFileBytes',
  'kernelBytes',
  'limitBytes',
  'swapBytes',
  'swapLimitBytes',
  'pageFaults',
  'majorPageFaults',
  'limitHits',
  'oomKills',
];

function totalMemory(parts: readonly (MemoryUsage | undefined)[]): MemoryUsage | undefined {
  const found: { [Key in Bytes]?: number } = {};
  for (const key of SUMMED) {
    const value = sum(parts.map((memory) => memory?.[key]));
    if (value !== undefined) found[key] = value;
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** undefined when any of them is. */
function sum(values: readonly (number | undefined)[]): number | undefined {
  let result = 0;
  for (const value of values) {
    if (value === undefined) return undefined;
    result += value;
  }
  return result;
}

/** What is known of them; undefined when nothing is. For disk usage, which is a lower bound anyway. */
export function sumKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0);
}
