import type Docker from 'dockerode';
import { describe, expect, it } from 'vitest';
import type { PodUid } from '../contract/index.ts';
import { encodeUnit } from '../shared/unit-labels.ts';
import { containerState, imageIdOf, observedPod } from './observe.ts';

const created = new Date('2026-01-02T03:04:05Z');
const NEVER = '0001-01-01T00:00:00Z';
const fresh = {
  Status: 'created',
  Running: false,
  Paused: false,
  Restarting: false,
  OOMKilled: false,
  Dead: false,
  Pid: 0,
  ExitCode: 0,
  Error: '',
  StartedAt: NEVER,
  FinishedAt: NEVER,
};
const ran = { StartedAt: '2026-01-02T03:04:06.123456789Z', FinishedAt: '2026-01-02T03:05:00Z', Status: 'exited' };
const started = new Date('2026-01-02T03:04:06.123Z');
const finished = new Date('2026-01-02T03:05:00Z');
const exited = { status: 'exited', startedAt: started, finishedAt: finished };

describe('the state of a container', () => {
  it.each([
    ['made', {}, { status: 'created' }],
    [
      'running',
      { ...ran, Status: 'running', Running: true, FinishedAt: NEVER },
      { status: 'running', startedAt: started },
    ],
    [
      'paused, which is running to a kubelet',
      { ...ran, Status: 'paused', Running: true, Paused: true },
      { status: 'running', startedAt: started },
    ],
    ['ended well', ran, { ...exited, exitCode: 0, oomKilled: false }],
    ['ended badly', { ...ran, ExitCode: 3 }, { ...exited, exitCode: 3, oomKilled: false }],
    [
      'ended before the engine noted its start',
      { ...ran, FinishedAt: '2026-01-02T03:04:06.1Z' },
      { ...exited, finishedAt: started, exitCode: 0, oomKilled: false },
    ],
    ['killed', { ...ran, ExitCode: 137 }, { ...exited, exitCode: 137, signal: 9, oomKilled: false }],
    [
      'out of memory',
      { ...ran, ExitCode: 137, OOMKilled: true },
      { ...exited, exitCode: 137, signal: 9, oomKilled: true },
    ],
    ['exit code without a signal', { ...ran, ExitCode: 255 }, { ...exited, exitCode: 255, oomKilled: false }],
    ['being removed', { ...ran, Status: 'removing' }, { ...exited, exitCode: 0, oomKilled: false }],
    ['half removed', { ...ran, Status: 'dead', Dead: true, ExitCode: 1 }, { ...exited, exitCode: 1, oomKilled: false }],
    [
      'ended with an error of the engine',
      { ...ran, ExitCode: 255, Error: 'lost it' },
      { ...exited, exitCode: 255, oomKilled: false, message: 'lost it' },
    ],
    [
      'not startable',
      { ExitCode: 127, Error: 'exec: "x": not found' },
      {
        status: 'exited',
        exitCode: 128,
        oomKilled: false,
        reason: 'StartError',
        startedAt: new Date(0),
        finishedAt: created,
        message: 'exec: "x": not found',
      },
    ],
  ])('%s', (_, state, expected) => {
    expect(containerState({ ...fresh, ...state }, created)).toEqual(expected);
  });
});

describe('the id of an image', () => {
  it('is a digest of the repository that was asked for, of any, or the engine id', () => {
    const digests = ['a.io/x@sha256:1', 'b.io:5000/x@sha256:2'];
    expect(imageIdOf('b.io:5000/x:tag', 'sha256:id', digests)).toBe('b.io:5000/x@sha256:2');
    expect(imageIdOf('c.io/x@sha256:1', 'sha256:id', digests)).toBe('a.io/x@sha256:1');
    expect(imageIdOf('x', 'sha256:id', [])).toBe('sha256:id');
  });
});

describe('the state of a pod', () => {
  const pod = { uid: 'u' as PodUid, namespace: 'ns', name: 'web' };
  const sandbox = (state: string, attempt = 0, names = ['/outrigger_POD_web_u_0']) => ({
    attempt,
    // The fields that are looked at.
    info: {
      Id: `id-${attempt}`,
      Names: names,
      State: state,
      Created: 1_700_000_000,
      Labels: encodeUnit({ kind: 'sandbox', pod, attempt }, { tier: 'a' }, { 'outrigger/node': 'n' }),
      NetworkSettings: { Networks: { net: { IPAddress: '10.1.0.2', GlobalIPv6Address: '' } } },
    } as unknown as Docker.ContainerInfo,
  });
  const parts = { pod, containers: [], volumes: [] };

  it.each([
    ['created', 'pending', []],
    ['running', 'ready', ['10.1.0.2']],
    ['removing', 'stopping', []],
    ['exited', 'stopped', []],
    ['dead', 'stopped', []],
  ])('with a sandbox that is %s: %s', (state, expected, ips) => {
    const observed = observedPod({ ...parts, sandboxes: [sandbox(state)] });
    expect(observed).toMatchObject({ state: expected, ips, labels: { tier: 'a', 'outrigger/node': 'n' } });
  });

  it('is pending while its volumes may not be filled', () => {
    const unfilled = sandbox('running', 0, ['/outrigger_PREPARE_web_u_0']);
    expect(observedPod({ ...parts, sandboxes: [unfilled] }).state).toBe('pending');
  });

  it('is that of its newest sandbox', () => {
    const observed = observedPod({ ...parts, sandboxes: [sandbox('exited', 0), sandbox('running', 1)] });
    expect(observed).toMatchObject({ attempt: 1, state: 'ready', unitId: 'id-1' });
  });

  it('is pending when only volumes are there, and stopped when containers have lost their sandbox', () => {
    const volume = { Name: 'v', CreatedAt: '2026-01-02T03:04:05Z' } as unknown as Docker.VolumeInspectInfo;
    expect(observedPod({ ...parts, sandboxes: [], volumes: [volume] })).toMatchObject({
      state: 'pending',
      createdAt: created,
    });
    const container = {
      name: 'app',
      attempt: 0,
      id: 'c',
      image: 'i',
      createdAt: created,
      state: { status: 'created' },
      labels: {},
    } as const;
    const lost = observedPod({ ...parts, sandboxes: [], containers: [container], sandboxAttempt: 2 });
    expect(lost).toMatchObject({ state: 'stopped', attempt: 2, reason: 'SandboxRemoved' });
  });
});
