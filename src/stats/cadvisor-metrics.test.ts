import { describe, expect, it } from 'vitest';
import { START_MS } from '../testing/builders.ts';
import { MEASURED_MS, makeHostUsage, makePodUsage, makeStorage, makeView } from '../testing/stats-setup.ts';
import { cadvisorMetrics } from './cadvisor-metrics.ts';

const CONTAINER = 'container="c",id="/docker/c-0",image="busybox:1",name="c-0",namespace="ns",pod="p"';
const SANDBOX = 'container="",id="/docker/sandbox",image="pause:3",name="sandbox",namespace="ns",pod="p"';
const MACHINE = 'container="",id="/",image="",name="",namespace="",pod=""';

function lines(text: string, name: string): readonly string[] {
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

describe('cAdvisor metrics', () => {
  const text = cadvisorMetrics(makeView({ storage: makeStorage() }));

  it.each([
    [
      'container_cpu_usage_seconds_total',
      [
        `{container="",cpu="total",id="/",image="",name="",namespace="",pod=""} 100 ${MEASURED_MS}`,
        `{container="",cpu="total",id="/docker/sandbox",image="pause:3",name="sandbox",namespace="ns",pod="p"} 0.5 ${MEASURED_MS}`,
        `{container="c",cpu="total",id="/docker/c-0",image="busybox:1",name="c-0",namespace="ns",pod="p"} 2.5 ${MEASURED_MS}`,
      ],
    ],
    [
      'container_memory_working_set_bytes',
      [`{${MACHINE}} 4000 ${MEASURED_MS}`, `{${SANDBOX}} 200 ${MEASURED_MS}`, `{${CONTAINER}} 2000 ${MEASURED_MS}`],
    ],
    [
      'container_network_receive_bytes_total',
      [
        `{container="",id="/",image="",interface="ens3",name="",namespace="",pod=""} 1 ${MEASURED_MS}`,
        `{container="",id="/docker/sandbox",image="pause:3",interface="eth0",name="sandbox",namespace="ns",pod="p"} 11 ${MEASURED_MS}`,
      ],
    ],
    [
      'container_fs_usage_bytes',
      [
        `{container="",device="8:1",id="/",image="",name="",namespace="",pod=""} 350 ${MEASURED_MS}`,
        `{container="c",device="8:1",id="/docker/c-0",image="busybox:1",name="c-0",namespace="ns",pod="p"} 40 ${START_MS}`,
      ],
    ],
    [
      'container_start_time_seconds',
      [
        `{${MACHINE}} ${START_MS / 1000 - 60}`,
        `{${SANDBOX}} ${START_MS / 1000}`,
        `{${CONTAINER}} ${START_MS / 1000 + 1}`,
      ],
    ],
    ['machine_cpu_cores', [' 4']],
    ['machine_memory_bytes', [' 16000']],
    ['container_scrape_error', [' 0']],
  ])('tell %s of machine, sandbox and container', (name, expected) => {
    expect(lines(text, name)).toEqual(expected.map((rest) => `${name}${rest}`));
  });

  it('say 0 for a limit that is not there, as cAdvisor does, and nothing for what is not known', () => {
    expect(lines(text, 'container_spec_memory_limit_bytes')).toEqual([
      `container_spec_memory_limit_bytes{${MACHINE}} 16000 ${MEASURED_MS}`,
      `container_spec_memory_limit_bytes{${SANDBOX}} 0 ${MEASURED_MS}`,
      `container_spec_memory_limit_bytes{${CONTAINER}} 10000 ${MEASURED_MS}`,
    ]);
    expect(text).not.toContain('container_memory_cache');
    expect(text).not.toContain('cfs');
    expect(text).not.toContain('pressure');
    expect(text).not.toContain('NaN');
  });

  it('tell throttling, devices, faults and pressure where they are known', () => {
    const line = { totalMicros: 2_500_000, avg10: 0, avg60: 0, avg300: 0 };
    const [container] = makePodUsage().containers;
    if (container === undefined) throw new Error('no container');
    const busy = {
      ...container,
      cpu: {
        usageNanos: 1,
        throttling: { periods: 3, throttledPeriods: 2, throttledNanos: 1.5e9 },
        pressure: { some: line, full: line },
      },
      io: { devices: [{ major: 8, minor: 1, readBytes: 4096, reads: 1 }] },
    };
    const all = cadvisorMetrics(makeView({ usage: [makePodUsage({ containers: [busy] })] }));
    const only = (name: string): readonly string[] => lines(all, name).filter((text) => text.includes('container="c"'));
    expect(only('container_cpu_cfs_throttled_seconds_total')).toEqual([
      `container_cpu_cfs_throttled_seconds_total{${CONTAINER}} 1.5 ${MEASURED_MS}`,
    ]);
    expect(only('container_pressure_cpu_waiting_seconds_total')).toEqual([
      `container_pressure_cpu_waiting_seconds_total{${CONTAINER}} 2.5 ${MEASURED_MS}`,
    ]);
    expect(only('container_fs_reads_bytes_total')).toHaveLength(1);
    expect(only('container_fs_reads_bytes_total')[0]).toContain('device="8:1"');
    expect(only('container_fs_writes_bytes_total')).toEqual([]);
    expect(only('container_blkio_device_usage_total')[0]).toContain('major="8",minor="1"');
    expect(only('container_memory_failures_total')).toHaveLength(2);
  });

  it('give a pod without a sandbox of its own a row for its network', () => {
    const { sandbox: _, ...usage } = makePodUsage();
    const [row] = lines(cadvisorMetrics(makeView({ usage: [usage] })), 'container_network_transmit_bytes_total').slice(
      1,
    );
    expect(row).toContain('interface="eth0"');
    expect(row).toContain('pod="p"');
  });

  it('tell of nothing but the error when nothing is known', () => {
    expect(lines(cadvisorMetrics(undefined), 'container_scrape_error')).toEqual(['container_scrape_error 1']);
    expect(cadvisorMetrics(undefined)).not.toContain('machine');
  });

  it('tell a file system once, even where three places lie on it', () => {
    const fs = { id: '8:1', capacityBytes: 1, inodes: 2 };
    const other = { id: '8:2', capacityBytes: 3 };
    const view = makeView({
      usage: [],
      host: makeHostUsage({ fileSystems: { node: fs, image: other, container: fs } }),
    });
    expect(lines(cadvisorMetrics(view), 'container_fs_limit_bytes')).toHaveLength(2);
  });
});
