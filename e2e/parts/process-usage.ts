import { readFileSync } from 'node:fs';

/** USER_HZ, which Linux fixes at 100 on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

export interface ProcessUsage {
  readonly cpuSeconds: number;
  /** Peak resident memory since the process began. */
  readonly peakRssMb: number;
}

/** What a process has used since it began. Linux only. */
export function processUsage(pid: number): ProcessUsage {
  return parseUsage(readFileSync(`/proc/${pid}/stat`, 'utf8'), readFileSync(`/proc/${pid}/status`, 'utf8'));
}

export function parseUsage(stat: string, status: string): ProcessUsage {
  // The command in parentheses may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Fields 14 and 15 of proc(5); the slice begins with field 3.
  const ticks = Number(fields[11]) + Number(fields[12]);
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(status);
  return { cpuSeconds: ticks / TICKS_PER_SECOND, peakRssMb: Number(peak?.[1] ?? Number.NaN) / 1024 };
}
