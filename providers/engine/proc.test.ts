import { describe, expect, it } from 'vitest';
import { isOfContainer, isStill, type ProcReader, proveProcess, signalProven } from './proc.ts';

const ID = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);

describe('the cgroup of a process', () => {
  it.each([
    ['v1', `9:name=systemd:/docker/${ID}\n8:pids:/docker/${ID}\n0::/\n`],
    ['v1 of an engine in a container', `9:name=systemd:/docker/${OTHER}/docker/${ID}\n0::/\n`],
    ['v2 with systemd', `0::/system.slice/docker-${ID}.scope\n`],
    ['v2 with a group of its own inside', `0::/system.slice/docker-${ID}.scope/init.scope\n`],
    ['v2 with cgroupfs', `0::/docker/${ID}\n`],
    ['v2 seen from another cgroup namespace', `0::/../${ID}\n`],
    ['podman', `0::/user.slice/user-0.slice/libpod-${ID}.scope/container\n`],
    ['v2, group removed', `0::/docker/${ID} (deleted)\n`],
  ])('names its container: %s', (_, cgroup) => {
    expect(isOfContainer(cgroup, ID)).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['the root', '0::/\n'],
    ['another container', `0::/docker/${OTHER}\n`],
    ['a container inside that container', `0::/docker/${ID}/docker/${OTHER}\n`],
    ['two containers', `9:pids:/docker/${ID}\n8:cpu:/docker/${OTHER}\n`],
    ['a longer name', `0::/docker/${ID}00\n`],
    ['a controller of that name', `1:/${ID}:/\n`],
  ])('proves nothing: %s', (_, cgroup) => {
    expect(isOfContainer(cgroup, ID)).toBe(false);
  });
});

describe('a process of a container', () => {
  const stat = (ticks: number): string =>
    `7 (a) b) S ${Array.from({ length: 18 }, () => '0').join(' ')} ${ticks} 0 0\n`;
  const reader =
    (ticks: () => number, id = ID): ProcReader =>
    (_, file) =>
      file === 'stat' ? stat(ticks()) : `0::/docker/${id}\n`;

  it('is known by its PID and its start', () => {
    expect(
      proveProcess(
        7,
        ID,
        reader(() => 42),
      ),
    ).toEqual({ pid: 7, containerId: ID, startTicks: '42' });
  });

  it('is not taken for the one that has its number after it', () => {
    const proven = proveProcess(
      7,
      ID,
      reader(() => 42),
    );
    if (proven === undefined) throw new Error('not proven');
    expect(
      isStill(
        proven,
        reader(() => 42),
      ),
    ).toBe(true);
    expect(
      isStill(
        proven,
        reader(() => 43),
      ),
    ).toBe(false);
    expect(
      isStill(
        proven,
        reader(() => 42, OTHER),
      ),
    ).toBe(false);
    expect(
      signalProven(
        proven,
        'SIGKILL',
        reader(() => 43),
      ),
    ).toBe(false);
  });

  it('is not proven when it changes while it is looked at', () => {
    let ticks = 0;
    expect(
      proveProcess(
        7,
        ID,
        reader(() => ticks++),
      ),
    ).toBeUndefined();
  });

  it('is not proven when there is none', () => {
    const gone: ProcReader = () => {
      throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
    };
    expect(proveProcess(7, ID, gone)).toBeUndefined();
    expect(
      proveProcess(
        0,
        ID,
        reader(() => 42),
      ),
    ).toBeUndefined();
    expect(
      proveProcess(
        -1,
        ID,
        reader(() => 42),
      ),
    ).toBeUndefined();
  });

  it('is never this process', () => {
    expect(proveProcess(process.pid, ID)).toBeUndefined();
  });
});
