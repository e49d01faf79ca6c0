import { describe, expect, it } from 'vitest';
import type { ContainerState, ObservedPod } from '../../providers/contract/index.ts';
import type { ContainerStatus, Pod, PodStatus } from '../model/pod.ts';
import {
  exited,
  makeContainer,
  makeObservedContainer,
  makeObservedPod,
  makePod,
  running,
  START_MS,
} from '../testing/builders.ts';
import { computeStatus, type StatusInput } from './compute.ts';

/**
 * Observations by hand, and the states that kubelet v1.36.3 wrote for the same course of events (containerd, one recording per
 * case, in the short form "phase conditions containers").
 */

type Step = Partial<Omit<StatusInput, 'pod' | 'previous' | 'observed'>> & {
  readonly pod?: Pod;
  readonly observed: ObservedPod | undefined;
};

function replay(pod: Pod, steps: readonly Step[]): string[] {
  const lines: string[] = [];
  let previous: PodStatus = pod.status ?? {};
  for (const [index, step] of steps.entries()) {
    previous = computeStatus({
      pod,
      previous,
      waiting: new Map(),
      probes: { started: () => true, ready: () => true },
      host: { hostIPs: ['192.168.0.10'], runtimeName: 'docker' },
      nowMs: START_MS + index * 1_000,
      terminating: false,
      finished: false,
      ...step,
    });
    lines.push(summary(previous));
  }
  return lines;
}

function summary({ phase, conditions = [], ...status }: PodStatus): string {
  const condition = (type: string): string => conditions.find((entry) => entry.type === type)?.status ?? '-';
  return [
    phase,
    `Ready=${condition('Ready')}`,
    `ContainersReady=${condition('ContainersReady')}`,
    `Initialized=${condition('Initialized')}`,
    `Sandbox=${condition('PodReadyToStartContainers')}`,
    ...[...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(brief),
  ].join(' ');
}

function brief({ name, state, ready, started, restartCount }: ContainerStatus): string {
  const text =
    state?.terminated !== undefined
      ? `terminated(${state.terminated.reason} ${state.terminated.exitCode})`
      : state?.running !== undefined
        ? 'running'
        : `waiting(${state?.waiting?.reason ?? ''})`;
  return `${name}:${text}${ready ? '+ready' : ''}${started === true ? '+started' : ''}#${restartCount}`;
}

/** Containers by `name` or `name#attempt`. */
function sees(containers: Record<string, ContainerState>, overrides: Partial<ObservedPod> = {}): ObservedPod {
  return makeObservedPod({
    containers: Object.entries(containers).map(([key, state]) => {
      const [name = '', attempt = '0'] = key.split('#');
      return makeObservedContainer(name, state, { attempt: Number(attempt) });
    }),
    ...overrides,
  });
}

const STOPPED = { state: 'stopped', ips: [] } as const;

function waiting(reasons: Record<string, string>): StatusInput['waiting'] {
  return new Map(Object.entries(reasons).map(([name, reason]) => [name, { reason, message: 'm' }]));
}

describe('the states that the real kubelet wrote', () => {
  it.each([
    ['exit 0 ends Succeeded', 0, 'Completed 0', 'Succeeded'],
    ['exit 3 ends Failed', 3, 'Error 3', 'Failed'],
  ] as const)('restartPolicy Never: %s, once the sandbox is down', (_, exitCode, ended, phase) => {
    const pod = makePod({ spec: { restartPolicy: 'Never' } });
    const states = replay(pod, [
      { observed: undefined },
      { observed: sees({}) },
      { observed: sees({ c: running() }) },
      { observed: sees({ c: exited(exitCode) }) },
      { observed: sees({ c: exited(exitCode) }, STOPPED), finished: true },
    ]);
    expect(states).toEqual([
      'Pending Ready=False ContainersReady=False Initialized=True Sandbox=False c:waiting(ContainerCreating)#0',
      'Pending Ready=False ContainersReady=False Initialized=True Sandbox=True c:waiting(ContainerCreating)#0',
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True c:running+ready+started#0',
      `Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:terminated(${ended})#0`,
      `${phase} Ready=False ContainersReady=False Initialized=True Sandbox=False c:terminated(${ended})#0`,
    ]);
  });

  it('a crash loop stays Running and counts its restarts', () => {
    const states = replay(makePod(), [
      { observed: sees({ c: running() }) },
      { observed: sees({ c: exited(7) }) },
      { observed: sees({ c: exited(7), 'c#1': running() }) },
      { observed: sees({ c: exited(7), 'c#1': exited(7) }) },
      { observed: sees({ c: exited(7), 'c#1': exited(7) }), waiting: waiting({ c: 'CrashLoopBackOff' }) },
      { observed: sees({ 'c#1': exited(7), 'c#2': running() }) },
    ]);
    expect(states).toEqual([
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True c:running+ready+started#0',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:terminated(Error 7)#0',
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True c:running+ready+started#1',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:terminated(Error 7)#1',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:waiting(CrashLoopBackOff)#1',
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True c:running+ready+started#2',
    ]);
  });

  it('OnFailure: the first run fails, the second ends the pod', () => {
    const states = replay(makePod({ spec: { restartPolicy: 'OnFailure' } }), [
      { observed: sees({ c: running() }) },
      { observed: sees({ c: exited(9) }) },
      { observed: sees({ c: exited(9), 'c#1': running() }) },
      { observed: sees({ c: exited(9), 'c#1': exited(0) }) },
      { observed: sees({ c: exited(9), 'c#1': exited(0) }, STOPPED), finished: true },
    ]);
    expect(states.slice(1)).toEqual([
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:terminated(Error 9)#0',
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True c:running+ready+started#1',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:terminated(Completed 0)#1',
      'Succeeded Ready=False ContainersReady=False Initialized=True Sandbox=False c:terminated(Completed 0)#1',
    ]);
  });

  it('two containers of which one fails: Failed, and only after both', () => {
    const pod = makePod({
      spec: { restartPolicy: 'Never', containers: [makeContainer('good'), makeContainer('bad')] },
    });
    const states = replay(pod, [
      { observed: sees({ good: running(), bad: running() }) },
      { observed: sees({ good: exited(0), bad: running() }) },
      { observed: sees({ good: exited(0), bad: exited(5) }) },
      { observed: sees({ good: exited(0), bad: exited(5) }, STOPPED), finished: true },
    ]);
    expect(states).toEqual([
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True bad:running+ready+started#0 good:running+ready+started#0',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True bad:running+ready+started#0 good:terminated(Completed 0)#0',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True bad:terminated(Error 5)#0 good:terminated(Completed 0)#0',
      'Failed Ready=False ContainersReady=False Initialized=True Sandbox=False bad:terminated(Error 5)#0 good:terminated(Completed 0)#0',
    ]);
  });

  it('a killed process over its memory limit is OOMKilled', () => {
    const states = replay(makePod({ spec: { restartPolicy: 'Never' } }), [
      { observed: sees({ c: exited(137, { oomKilled: true }) }, STOPPED), finished: true },
    ]);
    expect(states).toEqual([
      'Failed Ready=False ContainersReady=False Initialized=True Sandbox=False c:terminated(OOMKilled 137)#0',
    ]);
  });

  it('a first pull that fails keeps the pod Pending', () => {
    const states = replay(makePod(), [
      { observed: sees({}), waiting: waiting({ c: 'ErrImagePull' }) },
      { observed: sees({}), waiting: waiting({ c: 'ImagePullBackOff' }) },
    ]);
    expect(states).toEqual([
      'Pending Ready=False ContainersReady=False Initialized=True Sandbox=True c:waiting(ErrImagePull)#0',
      'Pending Ready=False ContainersReady=False Initialized=True Sandbox=True c:waiting(ImagePullBackOff)#0',
    ]);
  });

  it('a command that does not exist, Never: Pending until Failed', () => {
    const failed = exited(128, { reason: 'StartError' });
    const pod = makePod({ spec: { restartPolicy: 'Never' } });
    const failure = waiting({ c: 'RunContainerError' });
    const states = replay(pod, [
      { observed: sees({}) },
      { observed: sees({ c: failed }), waiting: failure },
      { observed: sees({ c: failed }, STOPPED), waiting: failure, finished: true },
    ]);
    expect(states.slice(1)).toEqual([
      'Pending Ready=False ContainersReady=False Initialized=True Sandbox=True c:terminated(StartError 128)#0',
      'Failed Ready=False ContainersReady=False Initialized=True Sandbox=False c:terminated(StartError 128)#0',
    ]);
  });

  it('a command that does not exist, Always: Running with a waiting container', () => {
    const failed = exited(128, { reason: 'StartError' });
    const states = replay(makePod(), [
      { observed: sees({ c: failed }), waiting: waiting({ c: 'RunContainerError' }) },
      { observed: sees({ c: failed, 'c#1': failed }), waiting: waiting({ c: 'RunContainerError' }) },
      { observed: sees({ c: failed, 'c#1': failed }), waiting: waiting({ c: 'CrashLoopBackOff' }) },
    ]);
    expect(states).toEqual([
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:waiting(RunContainerError)#0',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:waiting(RunContainerError)#1',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:waiting(CrashLoopBackOff)#1',
    ]);
  });

  it('a failing init container, Never: the others never had their turn and say so', () => {
    const pod = makePod({
      spec: { restartPolicy: 'Never', initContainers: [makeContainer('i1'), makeContainer('i2')] },
    });
    const states = replay(pod, [
      { observed: sees({}) },
      { observed: sees({ i1: running() }) },
      { observed: sees({ i1: exited(2) }) },
      { observed: sees({ i1: exited(2) }, STOPPED), finished: true },
    ]);
    const rest = 'i2:waiting(PodInitializing)#0 c:waiting(PodInitializing)#0';
    expect(states).toEqual([
      `Pending Ready=False ContainersReady=False Initialized=False Sandbox=True i1:waiting(PodInitializing)#0 ${rest}`,
      `Pending Ready=False ContainersReady=False Initialized=False Sandbox=True i1:running+started#0 ${rest}`,
      `Pending Ready=False ContainersReady=False Initialized=False Sandbox=True i1:terminated(Error 2)#0 ${rest}`,
      `Failed Ready=False ContainersReady=False Initialized=False Sandbox=False i1:terminated(Error 2)#0 ${rest}`,
    ]);
  });

  it('an init container in a crash loop keeps the pod Pending', () => {
    const pod = makePod({ spec: { initContainers: [makeContainer('i')] } });
    const states = replay(pod, [
      { observed: sees({ i: exited(6) }) },
      { observed: sees({ i: exited(6), 'i#1': running() }) },
      { observed: sees({ i: exited(6), 'i#1': exited(6) }), waiting: waiting({ i: 'CrashLoopBackOff' }) },
    ]);
    expect(states).toEqual([
      'Pending Ready=False ContainersReady=False Initialized=False Sandbox=True i:terminated(Error 6)#0 c:waiting(PodInitializing)#0',
      'Pending Ready=False ContainersReady=False Initialized=False Sandbox=True i:running+started#1 c:waiting(PodInitializing)#0',
      'Pending Ready=False ContainersReady=False Initialized=False Sandbox=True i:waiting(CrashLoopBackOff)#1 c:waiting(PodInitializing)#0',
    ]);
  });

  it('a sidecar with a startup probe gates what follows, and the pod ends when the app ends', () => {
    const side = makeContainer('side', { restartPolicy: 'Always' });
    const pod = makePod({ spec: { restartPolicy: 'Never', initContainers: [side, makeContainer('i')] } });
    const notStarted = { started: (name: string) => name !== 'side', ready: () => true };
    const all = { side: running(), i: exited(0) };
    const ended = { side: exited(0), i: exited(0), c: exited(0) };
    const states = replay(pod, [
      { observed: sees({ side: running() }), probes: notStarted },
      { observed: sees({ side: running() }) },
      { observed: sees({ side: running(), i: running() }) },
      { observed: sees(all) },
      { observed: sees({ ...all, c: running() }) },
      { observed: sees({ ...all, c: exited(0) }) },
      { observed: sees(ended, STOPPED), terminating: true },
      { observed: sees(ended, STOPPED), terminating: true, finished: true },
    ]);
    expect(states).toEqual([
      'Pending Ready=False ContainersReady=False Initialized=False Sandbox=True side:running#0 i:waiting(PodInitializing)#0 c:waiting(PodInitializing)#0',
      'Pending Ready=False ContainersReady=False Initialized=False Sandbox=True side:running+ready+started#0 i:waiting(PodInitializing)#0 c:waiting(PodInitializing)#0',
      'Pending Ready=False ContainersReady=False Initialized=False Sandbox=True side:running+ready+started#0 i:running+started#0 c:waiting(PodInitializing)#0',
      'Pending Ready=False ContainersReady=False Initialized=True Sandbox=True side:running+ready+started#0 i:terminated(Completed 0)+ready#0 c:waiting(PodInitializing)#0',
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True side:running+ready+started#0 i:terminated(Completed 0)+ready#0 c:running+ready+started#0',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True side:running+ready+started#0 i:terminated(Completed 0)+ready#0 c:terminated(Completed 0)#0',
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=False side:terminated(Completed 0)#0 i:terminated(Completed 0)+ready#0 c:terminated(Completed 0)#0',
      'Succeeded Ready=False ContainersReady=False Initialized=True Sandbox=False side:terminated(Completed 0)#0 i:terminated(Completed 0)+ready#0 c:terminated(Completed 0)#0',
    ]);
  });

  it.each([
    ['Failed', exited(4), 'Error 4'],
    ['Succeeded', exited(0), 'Completed 0'],
  ] as const)('a deleted pod ends %s by the exit codes, with restartPolicy Always too', (phase, end, ended) => {
    const deleted = makePod({ metadata: { generation: 2, deletionTimestamp: '2026-01-02T03:05:00Z' } });
    const states = replay(makePod(), [
      { observed: sees({ c: running() }) },
      { pod: deleted, observed: sees({ c: running() }), terminating: true },
      { pod: deleted, observed: sees({ c: end }, STOPPED), terminating: true, finished: true },
    ]);
    expect(states).toEqual([
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True c:running+ready+started#0',
      'Running Ready=True ContainersReady=True Initialized=True Sandbox=True c:running+ready+started#0',
      `${phase} Ready=False ContainersReady=False Initialized=True Sandbox=False c:terminated(${ended})#0`,
    ]);
  });

  it('an active deadline: not ready at once, Failed when the container is gone', () => {
    const override = {
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    };
    const states = replay(makePod(), [
      { observed: sees({ c: running() }) },
      { observed: sees({ c: running() }), override, terminating: true },
      { observed: sees({ c: exited(9) }, STOPPED), override, terminating: true, finished: true },
    ]);
    expect(states.slice(1)).toEqual([
      'Running Ready=False ContainersReady=False Initialized=True Sandbox=True c:running+ready+started#0',
      'Failed Ready=False ContainersReady=False Initialized=True Sandbox=False c:terminated(Error 9)#0',
    ]);
  });

  it('a refused pod shows the refusal and nothing else', () => {
    const states = replay(makePod(), [
      { observed: undefined, rejection: { reason: 'OutOfcpu', message: "Node didn't have enough resource" } },
    ]);
    expect(states).toEqual(['Failed Ready=- ContainersReady=- Initialized=- Sandbox=-']);
  });
});
