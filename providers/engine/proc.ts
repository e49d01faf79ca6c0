import { readFileSync } from 'node:fs';

/**
 * A process of a container as this process can address it. Engines tell PIDs of their own PID namespace, and a number says nothing
 * about whose: the kernel's word that process `pid` here is in that container is its cgroup (streaming.md, 6).
 */
export interface ProvenProcess {
  readonly pid: number;
  readonly containerId: string;
  /** Clock ticks since boot: with the PID it names one process for good, a number that is used again has another one. */
  readonly startTicks: string;
}

/** Reads `/proc/PID/<file>` of our own PID namespace; throws when there is no such process. The content never touches a disk. */
export type ProcReader = (pid: number, file: 'cgroup' | 'stat') => string;

const procFs: ProcReader = (pid, file) => readFileSync(`/proc/${pid}/${file}`, 'utf8');

/** undefined: no such process here, or none of that container. */
export function proveProcess(pid: number, containerId: string, read: ProcReader = procFs): ProvenProcess | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
  try {
    const startTicks = startTicksOf(read(pid, 'stat'));
    if (startTicks === undefined || !isOfContainer(read(pid, 'cgroup'), containerId)) return undefined;
    // The cgroup was that of the process with this start only if it is still the same one.
    return startTicksOf(read(pid, 'stat')) === startTicks ? { pid, containerId, startTicks } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the process proven earlier is still there, and not another one under its number. */
export function isStill(proven: ProvenProcess, read: ProcReader = procFs): boolean {
  return proveProcess(proven.pid, proven.containerId, read)?.startTicks === proven.startTicks;
}

/** Signals a process that was proven before, unless it is gone. The proof is made again in the same turn. */
export function signalProven(proven: ProvenProcess, signal: NodeJS.Signals, read: ProcReader = procFs): boolean {
  if (!isStill(proven, read)) return false;
  try {
    process.kill(proven.pid, signal);
    return true;
  } catch {
    return false; // gone in between, or not ours to signal
  }
}

/**
 * `/proc/PID/cgroup` of cgroup v1 (a line per hierarchy) and v2 (one line): the engine names a group after the container
 * (`/docker/ID`, `/system.slice/docker-ID.scope`, `/user.slice/…/libpod-ID.scope/container`). With engines inside containers
 * the innermost name counts, and no line may name another container.
 */
export function isOfContainer(cgroup: string, containerId: string): boolean {
  const named = new Set(cgroup.split('\n').flatMap((line) => innermostContainer(line) ?? []));
  return named.size === 1 && named.has(containerId);
}

function innermostContainer(line: string): string | undefined {
  const path = line.split(':').slice(2).join(':');
  return [...path.matchAll(/(?<=[/-])[0-9a-f]{64}(?=\.scope(?:\/|$| )|\/|$| )/g)].at(-1)?.[0];
}

/** Field 22 of `/proc/PID/stat`; the second field is the command's name in brackets, and may hold anything. */
function startTicksOf(stat: string): string | undefined {
  const ticks = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .at(22 - 3);
  return ticks !== undefined && /^\d+$/.test(ticks) ? ticks : undefined;
}
