import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { LocalStats } from './stats-local.ts';
import { cgroupMounts, placeLike, placeOf } from './stats-locate.ts';

const A = 'a'.repeat(64);
const B = 'b'.repeat(64);

const V1_MOUNTS = cgroupMounts(
  [
    '31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755',
    '33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
    '35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
    '40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd',
    '41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
  ].join('\n'),
);
const V2_MOUNTS = cgroupMounts('31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate');

describe('the place of a container', () => {
  it('is a directory for each controller where version 1 has the memory', () => {
    const cgroup = `9:name=systemd:/docker/${A}\n4:memory:/docker/${A}\n2:cpu,cpuacct:/docker/${A}\n0::/\n`;
    expect(placeOf(cgroup, V1_MOUNTS)).toEqual({
      version: 1,
      path: `/docker/${A}`,
      directories: {
        cpu: `/sys/fs/cgroup/cpu,cpuacct/docker/${A}`,
        cpuacct: `/sys/fs/cgroup/cpu,cpuacct/docker/${A}`,
        memory: `/sys/fs/cgroup/memory/docker/${A}`,
      },
    });
  });

  it('is one directory in version 2', () => {
    expect(placeOf(`0::/system.slice/docker-${A}.scope\n`, V2_MOUNTS)).toEqual({
      version: 2,
      path: `/system.slice/docker-${A}.scope`,
      directory: `/sys/fs/cgroup/system.slice/docker-${A}.scope`,
    });
  });

  it('is below what is mounted, if only a part of the hierarchy is', () => {
    const mounts = cgroupMounts('31 23 0:28 /kubepods/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw');
    expect(placeOf(`0::/kubepods/x/docker/${A}\n`, mounts)).toMatchObject({ directory: `/sys/fs/cgroup/docker/${A}` });
    expect(placeOf(`0::/docker/${A}\n`, mounts)).toBeUndefined();
  });

  it('is nowhere outside our own control group namespace', () => {
    expect(placeOf(`0::/../../docker/${A}\n`, V2_MOUNTS)).toBeUndefined();
    expect(placeOf('', V2_MOUNTS)).toBeUndefined();
    expect(placeOf(`0::/docker/${A}\n`, [])).toBeUndefined();
  });

  it('tells that of another container', () => {
    const place = placeOf(`0::/system.slice/docker-${A}.scope\n`, V2_MOUNTS);
    expect(place && placeLike(place, A, B)).toEqual({
      version: 2,
      path: `/system.slice/docker-${B}.scope`,
      directory: `/sys/fs/cgroup/system.slice/docker-${B}.scope`,
    });
  });
});

describe('containers of an engine elsewhere', () => {
  it('are looked for three times, and then not for a while', async () => {
    const clock = new FakeClock();
    const local = new LocalStats(clock, () => undefined);
    let asked = 0;
    const pidOf = async (): Promise<number> => {
      asked++;
      // A process of this machine, but not of that container.
      return process.pid;
    };
    for (let index = 0; index < 10; index++) expect(await local.measure(`${index}`.repeat(64), pidOf)).toBeUndefined();
    expect(asked).toBe(3);
    await clock.advance(600_000);
    await local.measure(A, pidOf);
    expect(asked).toBe(4);
  });

  it('that have ended say nothing about where the engine is', async () => {
    const local = new LocalStats(new FakeClock(), () => undefined);
    let asked = 0;
    const pidOf = async (): Promise<undefined> => {
      asked++;
    };
    for (let index = 0; index < 5; index++) await local.measure(A, pidOf);
    expect(asked).toBe(5);
  });

  it('have no network here', () => {
    expect(new LocalStats(new FakeClock(), () => undefined).network(A)).toBeUndefined();
  });
});
