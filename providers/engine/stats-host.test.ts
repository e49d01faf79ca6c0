import { describe, expect, it } from 'vitest';
import { readHost } from './stats-host.ts';
import { storageUsage } from './stats-storage.ts';

const FILES: Readonly<Record<string, string>> = {
  '/proc/stat':
    'cpu  100 10 50 900 5 3 2 1 0 0\ncpu0 50 5 25 450 2 2 1 1 0 0\ncpu1 50 5 25 450 2 2 1 1 0 0\nbtime 1700000000\n',
  '/proc/meminfo':
    'MemTotal: 1000 kB\nMemFree: 400 kB\nCached: 300 kB\nActive(file): 120 kB\nInactive(file): 100 kB\nAnonPages: 200 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n',
  '/proc/vmstat': 'pgfault 77\npgmajfault 7\n',
  '/proc/net/dev':
    'Inter-| Receive\n face |bytes\n' +
    '    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n' +
    '  eth0: 100 2 3 4 0 0 0 0 200 6 7 8 0 0 0 0\n' +
    'docker0: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n',
  '/proc/loadavg': '1.36 3.49 4.53 2/3518 3715089\n',
  '/proc/sys/kernel/pid_max': '4194304\n',
  '/proc/sys/kernel/threads-max': '127000\n',
};
const FS = { id: '8:1', capacityBytes: 10 };

function files(overrides: Readonly<Record<string, string | undefined>> = {}) {
  const all = { ...FILES, ...overrides };
  return { text: async (file: string) => all[file], fileSystem: async () => FS };
}

describe('the machine', () => {
  it('is read from its kernel', async () => {
    expect(await readHost(files(), 5, '/var/lib/docker')).toEqual({
      timeMs: 5,
      bootedAt: new Date(1_700_000_000_000),
      cpuCores: 2,
      cpu: { usageNanos: 1.65e9, userNanos: 1.1e9, systemNanos: 0.55e9 },
      memory: {
        usageBytes: 600 * 1024,
        workingSetBytes: 500 * 1024,
        rssBytes: 200 * 1024,
        cacheBytes: 300 * 1024,
        activeFileBytes: 120 * 1024,
        inactiveFileBytes: 100 * 1024,
        limitBytes: 1000 * 1024,
        swapBytes: 30 * 1024,
        swapLimitBytes: 50 * 1024,
        pageFaults: 77,
        majorPageFaults: 7,
      },
      network: {
        timeMs: 5,
        interfaces: [
          {
            name: 'eth0',
            rxBytes: 100,
            rxPackets: 2,
            rxErrors: 3,
            rxDropped: 4,
            txBytes: 200,
            txPackets: 6,
            txErrors: 7,
            txDropped: 8,
          },
        ],
      },
      fileSystems: { node: FS, image: FS, container: FS },
      pids: { max: 127_000, current: 3518 },
    });
  });

  it('has no network that could be seen where no bridge of an engine is', async () => {
    const elsewhere = '  eth0: 100 2 3 4 0 0 0 0 200 6 7 8 0 0 0 0\n';
    expect(await readHost(files({ '/proc/net/dev': elsewhere }), 5, undefined)).not.toHaveProperty('network');
  });

  it('of which nothing can be read has a time', async () => {
    const nothing = { text: async () => undefined, fileSystem: async () => undefined };
    expect(await readHost(nothing, 5, '/var/lib/docker')).toEqual({ timeMs: 5 });
  });
});

describe("the engine's disks", () => {
  const owner = { 'outrigger/node': 'n' };
  const pod = { 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.pod.namespace': 'ns', 'io.kubernetes.pod.name': 'p' };
  const container = {
    ...owner,
    ...pod,
    'outrigger/kind': 'container',
    'io.kubernetes.container.name': 'c',
    'io.kubernetes.container.restartCount': '2',
  };
  const volume = { ...owner, ...pod, 'outrigger/kind': 'volume', 'outrigger/volume': 'v' };

  it('are told by pod, with the logs that can be seen', () => {
    const usage = {
      LayersSize: 99,
      Containers: [
        { Id: 'a', Labels: container, SizeRw: 40 },
        { Id: 'b', Labels: { ...container, 'io.kubernetes.container.name': 'quiet' } },
        { Id: 'c', Labels: { ...container, 'outrigger/node': 'other' }, SizeRw: 1 },
        { Id: 'd', Labels: {}, SizeRw: 1 },
      ],
      Volumes: [
        { Name: 'one', Labels: volume, UsageData: { Size: 7, RefCount: 1 } },
        { Name: 'two', Labels: { ...volume, 'outrigger/volume': 'remote' }, UsageData: { Size: -1, RefCount: 1 } },
        { Name: 'three', Labels: {}, UsageData: { Size: 5, RefCount: 0 } },
      ],
    };
    expect(storageUsage(usage, { ownerLabels: owner, logs: new Map([['a', 11]]), nowMs: 5 })).toEqual({
      timeMs: 5,
      imageBytes: 99,
      pods: [
        {
          pod: { uid: 'u', namespace: 'ns', name: 'p' },
          containers: [
            { name: 'c', attempt: 2, rootfs: { usedBytes: 40 }, logs: { usedBytes: 11 } },
            { name: 'quiet', attempt: 2, rootfs: { usedBytes: 0 } },
          ],
          volumes: [{ name: 'v', usedBytes: 7 }],
        },
      ],
    });
    expect(
      storageUsage({ Containers: null, Volumes: null }, { ownerLabels: owner, logs: new Map(), nowMs: 5 }),
    ).toEqual({
      timeMs: 5,
      pods: [],
    });
  });
});
