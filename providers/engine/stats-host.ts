import { readFile, stat, statfs } from 'node:fs/promises';
import type { FileSystemUsage, HostFileSystems, HostUsage, MemoryUsage } from '../contract/index.ts';
import { interfacesIn, ofHost } from './stats-network.ts';
import { pressure } from './stats-pressure.ts';
import { given, keyed, numberIn } from './stats-text.ts';

/** The machine of an engine, read from its /proc; only for an engine that is proven to be here. */

export interface HostFiles {
  /** undefined when there is no such file. */
  text(file: string): Promise<string | undefined>;
  fileSystem(directory: string): Promise<FileSystemUsage | undefined>;
}

export const hostFiles: HostFiles = {
  text: async (file) => {
    try {
      return await readFile(file, 'utf8');
    } catch {
      return undefined; // kernels differ in what they have
    }
  },
  fileSystem: async (directory) => {
    try {
      const [{ dev }, fs] = await Promise.all([stat(directory), statfs(directory)]);
      return {
        // As the kernel prints devices: major and minor number.
        id: `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`,
        capacityBytes: fs.blocks * fs.bsize,
        availableBytes: fs.bavail * fs.bsize,
        usedBytes: (fs.blocks - fs.bfree) * fs.bsize,
        // Some file systems make inodes as they need them, and count none.
        ...(fs.files === 0 ? {} : { inodes: fs.files, inodesFree: fs.ffree, inodesUsed: fs.files - fs.ffree }),
      };
    } catch {
      return undefined; // the engine's directory lies in another mount namespace
    }
  },
};

/** `rootDirectory` is the engine's: containers, logs, volumes and images all lie there. */
export async function readHost(files: HostFiles, nowMs: number, rootDirectory: string | undefined): Promise<HostUsage> {
  const [stat, meminfo, vmstat, net, loadavg, pidMax, threadsMax, root, cpuStalled, memoryStalled, ioStalled] =
    await Promise.all([
      files.text('/proc/stat'),
      files.text('/proc/meminfo'),
      files.text('/proc/vmstat'),
      files.text('/proc/net/dev'),
      files.text('/proc/loadavg'),
      files.text('/proc/sys/kernel/pid_max'),
      files.text('/proc/sys/kernel/threads-max'),
      rootDirectory === undefined ? undefined : files.fileSystem(rootDirectory),
      files.text('/proc/pressure/cpu'),
      files.text('/proc/pressure/memory'),
      files.text('/proc/pressure/io'),
    ]);
  const cpu = cpuOf(stat);
  const memory = memoryOf(meminfo, vmstat);
  const interfaces = net === undefined ? undefined : ofHost(interfacesIn(net));
  const bootSeconds = keyed(stat).get('btime');
  const [cpuPressure, memoryPressure, ioPressure] = [cpuStalled, memoryStalled, ioStalled].map(pressure);
  const max = [numberIn(pidMax), numberIn(threadsMax)].filter((value) => value !== undefined);
  const current = numberIn(loadavg?.split(' ')[3]?.split('/')[1]);
  return {
    timeMs: nowMs,
    ...given<Omit<HostUsage, 'timeMs'>>({
      bootedAt: bootSeconds === undefined ? undefined : new Date(bootSeconds * 1000),
      cpuCores: stat?.match(/^cpu\d+ /gm)?.length,
      cpu: cpu && { ...cpu, ...(cpuPressure === undefined ? {} : { pressure: cpuPressure }) },
      memory: memory && { ...memory, ...(memoryPressure === undefined ? {} : { pressure: memoryPressure }) },
      io: ioPressure === undefined ? undefined : { devices: [], pressure: ioPressure },
      network: interfaces === undefined ? undefined : { timeMs: nowMs, interfaces },
      fileSystems: root === undefined ? undefined : everywhere(root),
      pids: given({ max: max.length === 0 ? undefined : Math.min(...max), current }),
    }),
  };
}

function everywhere(fs: FileSystemUsage): HostFileSystems {
  return { node: fs, image: fs, container: fs };
}

/** The unit of /proc/stat on every architecture that Node runs on. */
const NANOS_PER_TICK = 1e7;

function cpuOf(stat: string | undefined): { usageNanos: number; userNanos: number; systemNanos: number } | undefined {
  const line = stat?.match(/^cpu +(\d[\d ]*)$/m)?.[1];
  if (line === undefined) return undefined;
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line.split(' ').map(Number);
  const userNanos = (user + nice) * NANOS_PER_TICK;
  const systemNanos = (system + irq + softirq) * NANOS_PER_TICK;
  return { usageNanos: userNanos + systemNanos, userNanos, systemNanos };
}

/**
 * As the container library of the kubelet does where the root group has no numbers of its own: usage is what is not free, the
 * working set is that without inactive file pages.
 */
function memoryOf(meminfo: string | undefined, vmstat: string | undefined): MemoryUsage | undefined {
  const kilobytes = keyed(meminfo?.replaceAll(/[()]/g, '_'));
  const bytes = (key: string): number | undefined => {
    const value = kilobytes.get(key);
    return value === undefined ? undefined : value * 1024;
  };
  const total = bytes('MemTotal');
  const free = bytes('MemFree');
  if (total === undefined || free === undefined) return undefined;
  const usageBytes = total - free;
  const inactive = bytes('Inactive_file_');
  const [swap, swapFree] = [bytes('SwapTotal'), bytes('SwapFree')];
  const faults = keyed(vmstat);
  return given<MemoryUsage>({
    usageBytes,
    workingSetBytes: inactive === undefined ? undefined : Math.max(0, usageBytes - inactive),
    rssBytes: bytes('AnonPages'),
    cacheBytes: bytes('Cached'),
    mappedFileBytes: bytes('Mapped'),
    activeFileBytes: bytes('Active_file_'),
    inactiveFileBytes: inactive,
    limitBytes: total,
    swapLimitBytes: swap,
    swapBytes: swap === undefined || swapFree === undefined ? undefined : swap - swapFree,
    pageFaults: faults.get('pgfault'),
    majorPageFaults: faults.get('pgmajfault'),
    oomKills: faults.get('oom_kill'),
  });
}
