import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContainerState, ObservedPod } from '../../providers/contract/index.ts';
import { isTerminalPhase, type PodStatus } from '../model/pod.ts';
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

const NAMES = ['s', 'i', 'a', 'b'];

const state: fc.Arbitrary<ContainerState> = fc.oneof(
  fc.constant<ContainerState>({ status: 'created' }),
  fc.constant(running()),
  fc.constant<ContainerState>({ status: 'unknown', message: 'm' }),
  fc.constantFrom(0, 1, 137).map((code) => exited(code)),
);

const observation: fc.Arbitrary<ObservedPod | undefined> = fc.option(
  fc
    .record({
      up: fc.boolean(),
      runs: fc.array(fc.record({ name: fc.constantFrom(...NAMES), attempt: fc.nat(2), state }), { maxLength: 8 }),
    })
    .map(({ up, runs }) =>
      makeObservedPod({
        state: up ? 'ready' : 'stopped',
        ips: up ? ['10.0.0.7'] : [],
        // One entry per incarnation.
        containers: [...new Map(runs.map((run) => [`${run.name}#${run.attempt}`, run])).values()].map((run) =>
          makeObservedContainer(run.name, run.state, { attempt: run.attempt }),
        ),
      }),
    ),
  { nil: undefined },
);

const step = fc.record({
  observed: observation,
  failing: fc.subarray(NAMES),
  started: fc.boolean(),
  ready: fc.boolean(),
  finished: fc.boolean(),
  terminating: fc.boolean(),
  deadline: fc.boolean(),
});

const course = fc.record({
  policy: fc.constantFrom('Always', 'OnFailure', 'Never'),
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
});

type Course = typeof course extends fc.Arbitrary<infer T> ? T : never;

/** Plays a course and hands each status over with the input that led to it. */
function play({ policy, steps }: Course, check: (status: PodStatus, input: StatusInput) => void): void {
  const pod = makePod({
    spec: {
      restartPolicy: policy,
      initContainers: [makeContainer('s', { restartPolicy: 'Always' }), makeContainer('i')],
      containers: [makeContainer('b'), makeContainer('a')],
    },
  });
  let previous: PodStatus = pod.status ?? {};
  for (const [index, { observed, failing, started, ready, finished, terminating, deadline }] of steps.entries()) {
    const input: StatusInput = {
      pod,
      observed,
      previous,
      waiting: new Map(failing.map((name) => [name, { reason: 'CrashLoopBackOff', message: 'm' }])),
      probes: { started: () => started, ready: () => ready },
      host: { hostIPs: ['192.168.0.10'], runtimeName: 'docker' },
      nowMs: START_MS + index * 60_000,
      finished,
      terminating,
      override: deadline ? { reason: 'DeadlineExceeded', message: 'm' } : undefined,
    };
    const status = computeStatus(input);
    check(status, input);
    previous = status;
  }
}

function checkEvery(check: (status: PodStatus, input: StatusInput) => void): void {
  fc.assert(
    fc.property(course, (each) => play(each, check)),
    { seed: 1, numRuns: 100 },
  );
}

describe('whatever happens to a pod', () => {
  it('computing its status again changes nothing', () => {
    checkEvery((status, input) => {
      expect(computeStatus({ ...input, previous: status, nowMs: input.nowMs + 5_000 })).toEqual(status);
    });
  });

  it('a transition time moves when the status of the condition does, and only then', () => {
    checkEvery((status, { previous, nowMs }) => {
      for (const condition of status.conditions ?? []) {
        const before = previous.conditions?.find(({ type }) => type === condition.type);
        const moved = before?.status !== condition.status;
        const expected = moved ? `${new Date(nowMs).toISOString().slice(0, 19)}Z` : before?.lastTransitionTime;
        expect(condition.lastTransitionTime).toBe(expected);
      }
    });
  });

  it('a terminal phase is final and appears only once the pod is finished', () => {
    checkEvery((status, { previous, finished }) => {
      if (isTerminalPhase(previous.phase)) expect(status.phase).toBe(previous.phase);
      else expect(isTerminalPhase(status.phase)).toBe(finished);
    });
  });

  it('restart counts never fall, and the start time stays', () => {
    checkEvery((status, { previous }) => {
      for (const { name, restartCount } of [
        ...(status.initContainerStatuses ?? []),
        ...(status.containerStatuses ?? []),
      ]) {
        const before = [...(previous.initContainerStatuses ?? []), ...(previous.containerStatuses ?? [])];
        expect(restartCount).toBeGreaterThanOrEqual(before.find((entry) => entry.name === name)?.restartCount ?? 0);
      }
      expect(status.startTime).toBe('2026-01-02T03:04:05Z');
    });
  });

  it('every container has one state, and a ready one runs or has done its work', () => {
    checkEvery((status) => {
      expect(status.initContainerStatuses?.map(({ name }) => name)).toEqual(['s', 'i']);
      expect(status.containerStatuses?.map(({ name }) => name)).toEqual(['a', 'b']);
      for (const entry of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]) {
        expect(Object.keys(entry.state ?? {})).toHaveLength(1);
      }
    });
  });
});
