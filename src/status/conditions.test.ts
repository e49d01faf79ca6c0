import { describe, expect, it } from 'vitest';
import type { ContainerStatus, PodCondition } from '../model/pod.ts';
import { makeContainer, makeObservedPod, makePod } from '../testing/builders.ts';
import { type ConditionsInput, computeConditions } from './conditions.ts';

const NOW = '2026-01-02T03:10:00Z';
const EARLIER = '2026-01-02T03:05:00Z';

function conditions(more: Partial<ConditionsInput> = {}): PodCondition[] {
  return computeConditions({
    pod: makePod(),
    observed: makeObservedPod(),
    previous: {},
    init: [],
    main: [status('c', { ready: true, state: { running: {} } })],
    phase: 'Running',
    now: NOW,
    ...more,
  });
}

function condition(type: string, more: Partial<ConditionsInput> = {}): Partial<PodCondition> | undefined {
  const found = conditions(more).find((entry) => entry.type === type);
  const { status: text, reason, message } = found ?? { status: undefined };
  return found === undefined
    ? undefined
    : {
        status: text ?? '',
        ...(reason === undefined ? {} : { reason }),
        ...(message === undefined ? {} : { message }),
      };
}

function status(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: 'i', imageID: '', ready: false, restartCount: 0, ...more };
}

// reference 1.2
describe('the conditions of a pod', () => {
  it('come in the kubelet’s order, behind those of others', () => {
    const pod = makePod({
      metadata: { generation: 3 },
      status: {
        conditions: [
          { type: 'PodScheduled', status: 'True', lastTransitionTime: EARLIER },
          { type: 'example.com/gate', status: 'False', lastTransitionTime: EARLIER },
        ],
      },
    });
    const all = conditions({ pod });
    expect(all.map(({ type }) => type)).toEqual([
      'example.com/gate',
      'PodReadyToStartContainers',
      'Initialized',
      'Ready',
      'ContainersReady',
      'PodScheduled',
    ]);
    expect(all[0]).toEqual({ type: 'example.com/gate', status: 'False', lastTransitionTime: EARLIER });
    expect(all[5]).toEqual({
      type: 'PodScheduled',
      observedGeneration: 3,
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: EARLIER,
    });
  });

  it('leave out the generation where the API server has none', () => {
    const pod = makePod();
    delete pod.metadata.generation;
    expect(conditions({ pod })[0]).not.toHaveProperty('observedGeneration');
  });

  // reference 1.3
  it('keep their time while the status is the same, whatever reason and message do', () => {
    const previous = {
      conditions: [
        { type: 'Ready', status: 'False', reason: 'Other', message: 'other', lastTransitionTime: EARLIER },
        { type: 'Initialized', status: 'False', lastTransitionTime: EARLIER },
      ],
    };
    const all = conditions({ previous, main: [status('c', { state: { running: {} } })] });
    const time = (type: string) => all.find((entry) => entry.type === type)?.lastTransitionTime;
    expect(time('Ready')).toBe(EARLIER);
    expect(time('Initialized')).toBe(NOW);
    expect(time('ContainersReady')).toBe(NOW);
  });
});

describe('PodReadyToStartContainers', () => {
  it.each([
    ['a ready sandbox with an address', makeObservedPod(), {}, 'True'],
    ['a sandbox without an address', makeObservedPod({ ips: [] }), {}, 'False'],
    ['a sandbox on the host network', makeObservedPod({ ips: [] }), { hostNetwork: true }, 'True'],
    ['a stopped sandbox', makeObservedPod({ state: 'stopped' }), {}, 'False'],
    ['no sandbox', undefined, {}, 'False'],
  ] as const)('with %s is what the last column says', (_, observed, spec, expected) => {
    expect(condition('PodReadyToStartContainers', { observed, pod: makePod({ spec }) })).toEqual({ status: expected });
  });
});

describe('Initialized', () => {
  const spec = { initContainers: [makeContainer('s', { restartPolicy: 'Always' }), makeContainer('i')] };
  const pod = makePod({ spec });
  const waitingMain = [status('c', { state: { waiting: {} } })];

  it('names the init containers that are not through', () => {
    const init = [status('s', { started: false }), status('i')];
    expect(condition('Initialized', { pod, init, main: waitingMain, phase: 'Pending' })).toEqual({
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [s i]',
    });
  });

  it('names those without a status first', () => {
    expect(condition('Initialized', { pod, init: [status('s')], main: waitingMain, phase: 'Pending' })?.message).toBe(
      'containers with unknown status: [i], containers with incomplete status: [s]',
    );
  });

  it('is True once sidecars are started and plain ones are through', () => {
    const init = [status('s', { started: true }), status('i', { ready: true })];
    expect(condition('Initialized', { pod, init, main: waitingMain, phase: 'Pending' })).toEqual({ status: 'True' });
  });

  it('stays True when a sidecar is away again', () => {
    const init = [status('s', { started: false }), status('i', { ready: true })];
    expect(condition('Initialized', { pod, init })).toEqual({ status: 'True' });
    const previous = { conditions: [{ type: 'Initialized', status: 'True' }] };
    expect(condition('Initialized', { pod, init, main: waitingMain, previous })).toEqual({ status: 'True' });
  });

  it('says PodCompleted for a pod that succeeded', () => {
    expect(condition('Initialized', { phase: 'Succeeded' })).toEqual({ status: 'True', reason: 'PodCompleted' });
  });
});

describe('ContainersReady and Ready', () => {
  it('name the containers that are not ready, sidecars first', () => {
    const pod = makePod({
      spec: {
        initContainers: [makeContainer('i'), makeContainer('s', { restartPolicy: 'Always' })],
        containers: [makeContainer('c'), makeContainer('d')],
      },
    });
    const more = { pod, init: [status('i'), status('s')], main: [status('c', { ready: true }), status('d')] };
    const expected = {
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [s d]',
    };
    expect(condition('ContainersReady', more)).toEqual(expected);
    expect(condition('Ready', more)).toEqual(expected);
  });

  it.each([
    ['Succeeded', 'PodCompleted'],
    ['Failed', 'PodFailed'],
  ] as const)('of a pod that is %s are False with reason %s', (phase, reason) => {
    expect(condition('ContainersReady', { phase })).toEqual({ status: 'False', reason });
    expect(condition('Ready', { phase })).toEqual({ status: 'False', reason });
  });

  it('differ when a readiness gate is closed or missing', () => {
    const pod = makePod({
      spec: { readinessGates: [{ conditionType: 'a/x' }, { conditionType: 'a/y' }, { conditionType: 'a/z' }] },
      status: {
        conditions: [
          { type: 'a/x', status: 'True' },
          { type: 'a/y', status: 'False' },
        ],
      },
    });
    expect(condition('ContainersReady', { pod })).toEqual({ status: 'True' });
    expect(condition('Ready', { pod })).toEqual({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message:
        'the status of pod readiness gate "a/y" is not "True", but False, ' +
        'corresponding condition of pod readiness gate "a/z" does not exist.',
    });
  });
});
