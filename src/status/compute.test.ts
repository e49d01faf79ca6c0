import { describe, expect, it } from 'vitest';
import type { PodStatus } from '../model/pod.ts';
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

const HOST = { hostIPs: ['192.168.0.10'], runtimeName: 'docker' };
const RUNNING = makeObservedPod({ containers: [makeObservedContainer('c', running())] });
const STOPPED = makeObservedPod({
  state: 'stopped',
  ips: [],
  containers: [makeObservedContainer('c', exited(0))],
});

function compute(more: Partial<StatusInput> = {}): PodStatus {
  const pod = more.pod ?? makePod();
  return computeStatus({
    pod,
    observed: RUNNING,
    previous: pod.status ?? {},
    waiting: new Map(),
    probes: { started: () => true, ready: () => true },
    host: HOST,
    nowMs: START_MS,
    terminating: false,
    finished: false,
    ...more,
  });
}

// reference 1.3, 1.6
describe('the fields of a pod status', () => {
  it('are there from the first status on, but for the address of the pod', () => {
    expect(compute({ observed: undefined })).toMatchObject({
      phase: 'Pending',
      observedGeneration: 1,
      startTime: '2026-01-02T03:04:05Z',
      qosClass: 'BestEffort',
      hostIP: '192.168.0.10',
      hostIPs: [{ ip: '192.168.0.10' }],
    });
    expect(compute({ observed: undefined })).not.toHaveProperty('podIP');
    expect(compute()).toMatchObject({ podIP: '10.0.0.7', podIPs: [{ ip: '10.0.0.7' }] });
  });

  it('keep the start time of the first status', () => {
    const startTime = '2026-01-02T00:00:00Z';
    expect(compute({ previous: { startTime } }).startTime).toBe(startTime);
    expect(compute({ previous: {}, pod: makePod({ status: { startTime } }) }).startTime).toBe(startTime);
  });

  it('follow the generation and never go back', () => {
    const pod = makePod({ metadata: { generation: 4 } });
    expect(compute({ pod }).observedGeneration).toBe(4);
    expect(compute({ pod, previous: { observedGeneration: 5 } }).observedGeneration).toBe(5);
  });

  it('keep the addresses when the network and the node are out of sight', () => {
    const previous = compute();
    const { hostIP, hostIPs, podIP, podIPs } = previous;
    expect(compute({ previous, observed: STOPPED, host: undefined })).toMatchObject({ hostIP, hostIPs, podIP, podIPs });
  });

  it('put the node’s primary family first and name one address of each', () => {
    const observed = makeObservedPod({ ips: ['10.0.0.7', '10.0.0.8', 'FD00:0::7'] });
    expect(compute({ observed })).toMatchObject({ podIP: '10.0.0.7', podIPs: [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }] });
    const host = { ...HOST, hostIPs: ['fd00::1', '192.168.0.10'] };
    expect(compute({ observed, host })).toMatchObject({
      podIP: 'fd00::7',
      podIPs: [{ ip: 'fd00::7' }, { ip: '10.0.0.7' }],
    });
  });

  it('give a pod on the host network the addresses of the node, for good', () => {
    const pod = makePod({ spec: { hostNetwork: true } });
    const first = compute({ pod, observed: undefined });
    expect(first).toMatchObject({ podIP: '192.168.0.10', podIPs: [{ ip: '192.168.0.10' }] });
    const host = { ...HOST, hostIPs: ['192.168.0.99', 'fd00::99'] };
    expect(compute({ pod, previous: first, host })).toMatchObject({
      hostIP: '192.168.0.99',
      podIP: '192.168.0.10',
      podIPs: [{ ip: '192.168.0.10' }, { ip: 'fd00::99' }],
    });
  });

  it('show what the pod as a whole asks for, if anything', () => {
    const resources = { requests: { cpu: '100m', memory: '32Mi' }, limits: { memory: '64Mi' } };
    const pod = makePod({
      spec: { containers: [makeContainer('c', { resources }), makeContainer('d', { resources })] },
    });
    expect(compute({ pod, observed: undefined })).toMatchObject({
      qosClass: 'Burstable',
      resources: { requests: { cpu: '200m', memory: '64Mi' }, limits: { memory: '128Mi' } },
      allocatedResources: { cpu: '200m', memory: '64Mi' },
    });
    expect(compute()).not.toHaveProperty('resources');
    expect(compute()).not.toHaveProperty('allocatedResources');
  });

  it('of others are taken over from the API object', () => {
    const others = { nominatedNodeName: 'n', resourceClaimStatuses: [{ name: 'r', resourceClaimName: 'x' }] };
    expect(compute({ pod: makePod({ status: others }) })).toMatchObject(others);
  });
});

// reference 1.1, 1.10
describe('a terminal phase', () => {
  const pod = makePod({ spec: { restartPolicy: 'Never' } });

  it('is withheld until nothing can run any more', () => {
    const withheld = compute({ pod, previous: { phase: 'Running' }, observed: STOPPED });
    expect(withheld.phase).toBe('Running');
    expect(withheld.conditions?.find(({ type }) => type === 'Ready')?.reason).toBe('PodCompleted');
    expect(compute({ pod, previous: withheld, observed: STOPPED, finished: true }).phase).toBe('Succeeded');
  });

  it.each([
    ['the last status', { phase: 'Failed' }, {}],
    ['the API object', { phase: 'Running' }, { phase: 'Failed' }],
  ])('in %s is never left', (_, previous, status) => {
    const next = compute({ pod: makePod({ status }), previous });
    expect(next.phase).toBe('Failed');
    expect(next.conditions?.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'PodFailed',
    });
  });

  it('keeps its words, and another phase does not inherit them', () => {
    const words = { reason: 'Evicted', message: 'The node was low on resource: memory.' };
    expect(compute({ previous: { phase: 'Failed', ...words } })).toMatchObject({ phase: 'Failed', ...words });
    const next = compute({ previous: { phase: 'Pending', ...words } });
    expect(next.phase).toBe('Running');
    expect(next).not.toHaveProperty('reason');
    expect(next).not.toHaveProperty('message');
  });

  it('that is forced waits for the containers too', () => {
    const override = {
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    };
    const previous: PodStatus = { phase: 'Running' };
    const waiting = compute({ previous, override, terminating: true });
    expect(waiting.phase).toBe('Running');
    expect(waiting).not.toHaveProperty('reason');
    expect(compute({ previous: waiting, observed: STOPPED, override, finished: true })).toMatchObject({
      phase: 'Failed',
      ...override,
    });
  });
});

// reference 1.10.2
describe('a finished pod', () => {
  const lost = {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
    startedAt: null,
    finishedAt: null,
  };
  const deleted = { metadata: { deletionTimestamp: '2026-01-02T03:05:00Z' } };

  it('that never started is Failed, its container lost', () => {
    const status = compute({ pod: makePod(deleted), observed: undefined, terminating: true, finished: true });
    expect(status.phase).toBe('Failed');
    expect(status.containerStatuses?.[0]?.state).toEqual({ terminated: lost });
    // TerminatePod forces the phase only; the words are those of the pod that was pending.
    expect(status.conditions?.find(({ type }) => type === 'Ready')?.message).toBe(
      'containers with unready status: [c]',
    );
  });

  it('loses a container whose end nobody saw', () => {
    const previous = compute();
    const status = compute({ pod: makePod(deleted), previous, observed: undefined, terminating: true, finished: true });
    expect(status).toMatchObject({ phase: 'Failed', podIP: '10.0.0.7' });
    expect(status.containerStatuses?.[0]?.state).toEqual({ terminated: lost });
  });

  it('is not ready, whatever its containers looked like', () => {
    const status = compute({ finished: true });
    for (const type of ['Ready', 'ContainersReady']) {
      expect(status.conditions?.find((condition) => condition.type === type)).toMatchObject({
        status: 'False',
        reason: 'PodFailed',
      });
    }
  });

  it('loses the init containers up to the last that was tried, and no main one before its turn', () => {
    const spec = { initContainers: [makeContainer('i1'), makeContainer('i2'), makeContainer('i3')] };
    const pod = makePod({ spec, ...deleted });
    const observed = makeObservedPod({
      state: 'stopped',
      containers: [makeObservedContainer('i1', exited(0)), makeObservedContainer('i2', { status: 'created' })],
    });
    const previous: PodStatus = {};
    const none = compute({ pod, previous, observed, terminating: true, finished: true });
    const states = none.initContainerStatuses?.map(({ state }) => Object.keys(state ?? {}).join());
    expect(states).toEqual(['terminated', 'waiting', 'waiting']);
    expect(none.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: 'PodInitializing' } });
    expect(none.phase).toBe('Failed');
  });

  it('that was rejected has nothing to lose', () => {
    const rejection = { reason: 'OutOfcpu', message: 'no room' };
    const status = compute({
      pod: makePod(deleted),
      rejection,
      observed: undefined,
      terminating: true,
      finished: true,
    });
    expect(status).not.toHaveProperty('containerStatuses');
  });
});

// reference 6.3
describe('a rejected pod', () => {
  it('keeps nothing but the refusal and the conditions of others', () => {
    const gate = { type: 'example.com/gate', status: 'True' };
    const pod = makePod({ status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'True' }, gate] } });
    const rejection = { reason: 'NodePorts', message: 'Predicate NodePorts failed: …' };
    expect(compute({ pod, previous: compute(), rejection })).toEqual({
      phase: 'Failed',
      reason: 'NodePorts',
      message: 'Pod was rejected: Predicate NodePorts failed: …',
      qosClass: 'BestEffort',
      startTime: '2026-01-02T03:04:05Z',
      observedGeneration: 1,
      conditions: [gate],
    });
    expect(compute({ rejection })).not.toHaveProperty('conditions');
  });
});
