import { describe, expect, it } from 'vitest';
import type { ContainerStatus, PodStatus } from '../../model/pod.ts';
import { exited, makeObservedContainer, makeObservedPod, makePod, POD_UID, running } from '../../testing/builders.ts';
import { findInstance, selectInstance } from './instance.ts';

const TIME = '2026-01-02T03:04:05Z';

function ended(id: string): ContainerStatus['lastState'] {
  return { terminated: { exitCode: 1, startedAt: TIME, finishedAt: TIME, ...(id !== '' && { containerID: id }) } };
}

function statusOf(overrides: Partial<ContainerStatus>): PodStatus {
  const status = { name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, ...overrides };
  return { containerStatuses: [status] };
}

function select(overrides: Partial<ContainerStatus>, previous = false) {
  const selection = selectInstance('p', 'c', statusOf(overrides), previous);
  return selection.type === 'selected' ? `${selection.containerId}#${selection.attempt}` : selection.message;
}

const RUNNING: Partial<ContainerStatus> = {
  state: { running: { startedAt: TIME } },
  containerID: 'docker://b',
  restartCount: 3,
  lastState: ended('docker://a') ?? {},
};
const CRASHED: Partial<ContainerStatus> = {
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  restartCount: 3,
  lastState: ended('docker://b') ?? {},
};

describe('selectInstance', () => {
  it.each<[string, Partial<ContainerStatus>, boolean, string]>([
    ['running: the current one', RUNNING, false, 'docker://b#3'],
    ['running, previous: the one before', RUNNING, true, 'docker://a#2'],
    [
      'running for the first time, previous',
      { ...RUNNING, restartCount: 0, lastState: {} },
      true,
      'previous terminated container "c" in pod "p" not found',
    ],
    ['terminated: that one', { state: ended('docker://b') ?? {}, restartCount: 1 }, false, 'docker://b#1'],
    [
      'terminated, previous: the one before',
      { state: ended('docker://b') ?? {}, lastState: ended('docker://a') ?? {}, restartCount: 1 },
      true,
      'docker://a#0',
    ],
    [
      'terminated without an id: the last one that ran',
      { state: ended('') ?? {}, lastState: ended('docker://a') ?? {}, restartCount: 1 },
      false,
      'docker://a#1',
    ],
    ['terminated, never ran', { state: ended('') ?? {} }, false, 'container "c" in pod "p" is terminated'],
    ['crashed: the one that crashed', CRASHED, false, 'docker://b#3'],
    ['crashed, previous: the same', CRASHED, true, 'docker://b#3'],
    [
      'last state without an id',
      { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended('') ?? {} },
      false,
      'container "c" in pod "p" is terminated',
    ],
    [
      'waiting',
      { state: { waiting: { reason: 'ContainerCreating' } } },
      false,
      'container "c" in pod "p" is waiting to start: ContainerCreating',
    ],
    [
      'pull failed',
      { state: { waiting: { reason: 'ErrImagePull' } } },
      false,
      'container "c" in pod "p" is waiting to start: image can\'t be pulled',
    ],
    [
      'pull back-off',
      { state: { waiting: { reason: 'ImagePullBackOff' } } },
      false,
      'container "c" in pod "p" is waiting to start: trying and failing to pull image',
    ],
    ['no state at all', { state: {} }, false, 'container "c" in pod "p" is waiting to start - no logs yet'],
    ['another container', { name: 'd' }, false, 'container "c" in pod "p" is not available'],
  ])('%s', (_, status, previous, result) => {
    expect(select(status, previous)).toBe(result);
  });

  it('looks among init and ephemeral containers too', () => {
    const { containerStatuses = [] } = statusOf(RUNNING);
    for (const status of [
      { initContainerStatuses: containerStatuses },
      { ephemeralContainerStatuses: containerStatuses },
    ]) {
      expect(selectInstance('p', 'c', status, false)).toMatchObject({ type: 'selected', attempt: 3 });
    }
  });
});

describe('findInstance', () => {
  const selection = { type: 'selected', containerId: 'docker://c-2', attempt: 5 } as const;
  const observed = makeObservedPod({
    containers: [
      makeObservedContainer('c', running(), { attempt: 3 }),
      makeObservedContainer('c', exited(1), { attempt: 2 }),
    ],
  });

  it('goes by the id that the backend knows', () => {
    expect(findInstance(makePod(), 'c', selection, observed)).toEqual({ podUid: POD_UID, container: 'c', attempt: 2 });
  });

  it('goes by the restart count while the backend has not been asked', () => {
    expect(findInstance(makePod(), 'c', selection, undefined)).toMatchObject({ attempt: 5 });
  });

  it('finds nothing where the backend has removed it', () => {
    expect(findInstance(makePod(), 'c', { ...selection, containerId: 'docker://gone' }, observed)).toBeUndefined();
  });
});
