import { describe, expect, it } from 'vitest';
import { type ApiStats, networkInterfaces, taskUsage } from './stats-api.ts';

const READ = '2026-01-02T03:04:05.500Z';
const READ_MS = Date.parse(READ);
const GIBIBYTE = 2 ** 30;

/** As engines send it, which is not as the types of the client library have it. */
function stats(overrides: object): ApiStats {
  const cpu_usage = { total_usage: 500, usage_in_usermode: 300, usage_in_kernelmode: 200 };
  const cpu_stats = { cpu_usage, throttling_data: { periods: 0, throttled_periods: 0, throttled_time: 0 } };
  return { read: READ, cpu_stats, pids_stats: { current: 3 }, ...overrides };
}

describe("the engine's own numbers", () => {
  it('are read with the names of cgroup v1', () => {
    const memory_stats = {
      usage: 1000,
      max_usage: 2000,
      limit: 5000,
      stats: {
        cache: 1,
        total_cache: 600,
        total_rss: 300,
        total_inactive_file: 400,
        total_pgfault: 9,
        inactive_file: 1,
      },
    };
    expect(taskUsage(stats({ memory_stats }), 0, GIBIBYTE)).toEqual({
      timeMs: READ_MS,
      cpu: { usageNanos: 500, userNanos: 300, systemNanos: 200 },
      memory: {
        usageBytes: 1000,
        workingSetBytes: 600,
        rssBytes: 300,
        cacheBytes: 600,
        inactiveFileBytes: 400,
        maxUsageBytes: 2000,
        limitBytes: 5000,
        pageFaults: 9,
      },
      processes: { threads: 3 },
    });
  });

  it('are read with the names of cgroup v2', () => {
    const memory_stats = {
      usage: 1000,
      limit: GIBIBYTE,
      stats: { anon: 300, file: 600, inactive_file: 400, pgfault: 9 },
    };
    expect(taskUsage(stats({ memory_stats }), 0, GIBIBYTE)?.memory).toEqual({
      usageBytes: 1000,
      workingSetBytes: 600,
      rssBytes: 300,
      cacheBytes: 600,
      inactiveFileBytes: 400,
      pageFaults: 9,
    });
  });

  it('tell devices, and throttling where there is any', () => {
    const usage = taskUsage(
      stats({
        cpu_stats: {
          cpu_usage: { total_usage: 1 },
          throttling_data: { periods: 5, throttled_periods: 2, throttled_time: 7 },
        },
        blkio_stats: {
          io_service_bytes_recursive: [
            { major: 8, minor: 0, op: 'Read', value: 4096 },
            { major: 8, minor: 0, op: 'Total', value: 4096 },
          ],
          io_serviced_recursive: null,
        },
      }),
      0,
      undefined,
    );
    expect(usage?.cpu).toEqual({
      usageNanos: 1,
      throttling: { periods: 5, throttledPeriods: 2, throttledNanos: 7 },
    });
    expect(usage?.io).toEqual({ devices: [{ major: 8, minor: 0, readBytes: 4096 }] });
  });

  it('of a container that has ended are none', () => {
    const ended = {
      read: '0001-01-01T00:00:00Z',
      cpu_stats: { cpu_usage: { total_usage: 0 } },
      memory_stats: {},
      pids_stats: {},
      blkio_stats: { io_service_bytes_recursive: null },
    };
    expect(taskUsage(stats(ended), 0, GIBIBYTE)).toBeUndefined();
    expect(taskUsage({}, 0, GIBIBYTE)).toBeUndefined();
  });

  it('tell the interfaces of whoever has a network', () => {
    expect(networkInterfaces(stats({}))).toBeUndefined();
    const networks = { eth0: { rx_bytes: 1, rx_packets: 2, rx_errors: 0, rx_dropped: 0, tx_bytes: 3 } };
    expect(networkInterfaces(stats({ networks }))).toEqual([
      { name: 'eth0', rxBytes: 1, rxPackets: 2, rxErrors: 0, rxDropped: 0, txBytes: 3 },
    ]);
  });
});
