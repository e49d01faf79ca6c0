import { describe, expect, it } from 'vitest';
import { type CgroupPlace, firstPid, type ReadText, readCgroup } from './stats-cgroup.ts';

const V1: CgroupPlace = {
  version: 1,
  path: '/docker/x',
  directories: { cpu: '/cpu', cpuacct: '/cpuacct', memory: '/memory', blkio: '/blkio', pids: '/pids' },
};
const V2: CgroupPlace = { version: 2, path: '/system.slice/docker-x.scope', directory: '/x' };

function reading(files: Readonly<Record<string, string>>): ReadText {
  return (file) => files[file];
}

describe('control groups of version 1', () => {
  const files = {
    '/cpuacct/cpuacct.usage': '5000\n',
    '/cpuacct/cpuacct.usage_user': '3000\n',
    '/cpu/cpu.stat': 'nr_periods 10\nnr_throttled 4\nthrottled_time 700\n',
    '/memory/memory.usage_in_bytes': '1000\n',
    '/memory/memory.max_usage_in_bytes': '2000\n',
    '/memory/memory.failcnt': '3\n',
    '/memory/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
    '/memory/memory.stat': [
      'cache 1',
      'hierarchical_memory_limit 4096',
      'hierarchical_memsw_limit 8192',
      'total_cache 600',
      'total_rss 300',
      'total_mapped_file 20',
      'total_swap 5',
      'total_pgfault 9',
      'total_pgmajfault 2',
      'total_inactive_file 400',
      'total_active_file 200',
    ].join('\n'),
    '/blkio/blkio.throttle.io_service_bytes_recursive': '8:0 Read 4096\n8:0 Write 512\n8:0 Sync 1\nTotal 4608\n',
    '/blkio/blkio.throttle.io_serviced_recursive': '8:0 Read 2\n8:0 Write 1\nTotal 3\n',
    '/pids/cgroup.procs': '12\n13\n',
    '/pids/pids.current': '5\n',
    '/pids/pids.max': '64\n',
    '/cpuacct/cgroup.procs': '12\n13\n',
  };

  it('tell everything that the kubelet wants to know', () => {
    expect(readCgroup(V1, 7, reading(files))).toEqual({
      timeMs: 7,
      cgroup: '/docker/x',
      cpu: {
        usageNanos: 5000,
        userNanos: 3000,
        systemNanos: 2000,
        throttling: { periods: 10, throttledPeriods: 4, throttledNanos: 700 },
      },
      memory: {
        usageBytes: 1000,
        workingSetBytes: 600,
        rssBytes: 300,
        cacheBytes: 600,
        mappedFileBytes: 20,
        activeFileBytes: 200,
        inactiveFileBytes: 400,
        maxUsageBytes: 2000,
        limitBytes: 4096,
        swapBytes: 5,
        swapLimitBytes: 4096,
        pageFaults: 9,
        majorPageFaults: 2,
        limitHits: 3,
        oomKills: 1,
      },
      io: { devices: [{ major: 8, minor: 0, readBytes: 4096, writeBytes: 512, reads: 2, writes: 1 }] },
      processes: { processes: 2, threads: 5, threadsMax: 64 },
    });
    expect(firstPid(V1, reading(files))).toBe(12);
  });

  it('have no limit where the kernel has rounded infinity, and no quota where there were no periods', () => {
    const usage = readCgroup(
      V1,
      7,
      reading({
        ...files,
        '/cpu/cpu.stat': 'nr_periods 0\nnr_throttled 0\nthrottled_time 0\n',
        '/memory/memory.stat':
          'hierarchical_memory_limit 9223372036854771712\nhierarchical_memsw_limit 9223372036854771712\ntotal_inactive_file 9999\n',
        '/pids/pids.max': 'max\n',
      }),
    );
    expect(usage?.memory).not.toHaveProperty('limitBytes');
    expect(usage?.memory).not.toHaveProperty('swapLimitBytes');
    expect(usage?.memory?.workingSetBytes).toBe(0);
    expect(usage?.cpu).not.toHaveProperty('throttling');
    expect(usage?.processes).not.toHaveProperty('threadsMax');
  });

  it('never share out more than they count', () => {
    const usage = readCgroup(V1, 7, reading({ ...files, '/cpuacct/cpuacct.usage_user': '6000\n' }));
    expect(usage?.cpu).toMatchObject({ usageNanos: 5000, userNanos: 5000, systemNanos: 0 });
  });

  it('say nothing when they are gone', () => {
    expect(readCgroup(V1, 7, reading({}))).toBeUndefined();
    expect(readCgroup(V2, 7, reading({}))).toBeUndefined();
    expect(firstPid(V1, reading({ '/cpuacct/cgroup.procs': '' }))).toBeUndefined();
  });
});

describe('control groups of version 2', () => {
  const pressure = (total: number): string =>
    `some avg10=1.50 avg60=0.25 avg300=0.00 total=${total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n`;
  const files = {
    '/x/cpu.stat': 'usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 10\nnr_throttled 4\nthrottled_usec 7\n',
    '/x/cpu.pressure': pressure(11),
    '/x/memory.current': '1000\n',
    '/x/memory.stat':
      'anon 300\nfile 600\nkernel 50\nfile_mapped 20\ninactive_file 400\nactive_file 200\npgfault 9\npgmajfault 2\n',
    '/x/memory.max': 'max\n',
    '/x/memory.swap.current': '5\n',
    '/x/memory.swap.max': '0\n',
    '/x/memory.events': 'low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n',
    '/x/memory.peak': '2000\n',
    '/x/memory.pressure': pressure(22),
    '/x/io.stat': '8:0 rbytes=4096 wbytes=512 rios=2 wios=1 dbytes=0 dios=0\n',
    '/x/io.pressure': pressure(33),
    '/x/pids.current': '5\n',
    '/x/pids.max': 'max\n',
    '/x/cgroup.procs': '12\n',
  };

  it('tell everything that the kubelet wants to know, and pressure', () => {
    const stalled = (totalMicros: number) => ({
      some: { totalMicros, avg10: 1.5, avg60: 0.25, avg300: 0 },
      full: { totalMicros: 1, avg10: 0, avg60: 0, avg300: 0 },
    });
    expect(readCgroup(V2, 7, reading(files))).toEqual({
      timeMs: 7,
      cgroup: '/system.slice/docker-x.scope',
      cpu: {
        usageNanos: 5000,
        userNanos: 3000,
        systemNanos: 2000,
        throttling: { periods: 10, throttledPeriods: 4, throttledNanos: 7000 },
        pressure: stalled(11),
      },
      memory: {
        usageBytes: 1000,
        workingSetBytes: 600,
        rssBytes: 300,
        cacheBytes: 600,
        mappedFileBytes: 20,
        activeFileBytes: 200,
        inactiveFileBytes: 400,
        kernelBytes: 50,
        maxUsageBytes: 2000,
        swapBytes: 5,
        swapLimitBytes: 0,
        pageFaults: 9,
        majorPageFaults: 2,
        limitHits: 3,
        oomKills: 1,
        pressure: stalled(22),
      },
      io: {
        devices: [{ major: 8, minor: 0, readBytes: 4096, writeBytes: 512, reads: 2, writes: 1 }],
        pressure: stalled(33),
      },
      processes: { processes: 1, threads: 5 },
    });
  });

  it('leave out what a kernel does not have', () => {
    const { '/x/cpu.pressure': _, '/x/memory.peak': _peak, '/x/io.stat': _io, ...older } = files;
    const usage = readCgroup(V2, 7, reading(older));
    expect(usage?.cpu).not.toHaveProperty('pressure');
    expect(usage?.memory).not.toHaveProperty('maxUsageBytes');
    expect(usage).not.toHaveProperty('io');
  });
});
