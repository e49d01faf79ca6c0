import { describe, expect, it } from 'vitest';
import type { ObservedContainer } from '../../providers/contract/index.ts';
import type { ContainerStatus, Pod, PodStatus } from '../model/pod.ts';
import {
  exited,
  makeContainer,
  makeObservedContainer,
  makeObservedPod,
  makePod,
  running,
} from '../testing/builders.ts';
import { type ContainersInput, containerStatuses } from './containers.ts';

function statuses(containers: readonly ObservedContainer[], more: Partial<ContainersInput> = {}) {
  return containerStatuses({
    pod: makePod(),
    observed: makeObservedPod({ containers }),
    previous: {},
    waiting: new Map(),
    probes: { started: () => true, ready: () => true },
    runtimeName: 'docker',
    terminating: false,
    ...more,
  });
}

function first(containers: readonly ObservedContainer[], more: Partial<ContainersInput> = {}) {
  return statuses(containers, more).containerStatuses?.[0];
}

function seen(...args: Parameters<typeof makeObservedContainer>): readonly ObservedContainer[] {
  return [makeObservedContainer(...args)];
}

function recorded(status: Partial<ContainerStatus>): PodStatus {
  const entry = { name: 'c', image: 'busybox:1', imageID: '', ready: false, restartCount: 0, lastState: {}, ...status };
  return { containerStatuses: [entry] };
}

const TOKEN = { name: 'token', mountPath: '/var/run/secrets', readOnly: true };
const DELETED = { deletionTimestamp: '2026-01-02T03:05:00Z' };

// reference 1.4; the exact shapes are those of kubelet v1.36.3
describe('a container status', () => {
  it('before anything exists shows what the spec says', () => {
    const pod = makePod({
      spec: { containers: [makeContainer('c', { volumeMounts: [{ name: 'd', mountPath: '/d' }, TOKEN] })] },
    });
    expect(statuses([], { pod, observed: undefined })).toEqual({
      containerStatuses: [
        {
          name: 'c',
          state: { waiting: { reason: 'ContainerCreating' } },
          lastState: {},
          ready: false,
          restartCount: 0,
          image: 'busybox:1',
          imageID: '',
          started: false,
          volumeMounts: [
            { name: 'd', mountPath: '/d' },
            { ...TOKEN, recursiveReadOnly: 'Disabled' },
          ],
        },
      ],
    });
  });

  it('of a running container names it and shows its resources, even if there are none', () => {
    expect(first(seen('c', running()))).toEqual({
      name: 'c',
      state: { running: { startedAt: '2026-01-02T03:04:05Z' } },
      lastState: {},
      ready: true,
      restartCount: 0,
      image: 'busybox:1',
      imageID: 'sha256:abc',
      containerID: 'docker://c-0',
      started: true,
      resources: {},
    });
  });

  it('shows allocated requests beside the resources', () => {
    const resources = { requests: { cpu: '100m' }, limits: { cpu: '200m' } };
    const pod = makePod({ spec: { containers: [makeContainer('c', { resources })] } });
    expect(first(seen('c', running()), { pod })).toMatchObject({ resources, allocatedResources: { cpu: '100m' } });
    const limited = makePod({ spec: { containers: [makeContainer('c', { resources: { limits: { cpu: '1' } } })] } });
    expect(first(seen('c', running()), { pod: limited })).not.toHaveProperty('allocatedResources');
  });

  it('of a container that is made but not started is an empty waiting', () => {
    expect(first(seen('c', { status: 'created' }))).toMatchObject({
      state: { waiting: {} },
      containerID: 'docker://c-0',
    });
  });

  it('shows why a backend lets a container wait', () => {
    const state = { status: 'waiting', reason: 'Provisioning', message: 'no capacity yet' } as const;
    expect(first(seen('c', state))?.state).toEqual({ waiting: { reason: state.reason, message: state.message } });
  });

  it('of an exited container has its code, its times and no signal', () => {
    expect(first(seen('c', exited(143, { signal: 15, message: 'bye' })))).toMatchObject({
      state: {
        terminated: {
          exitCode: 143,
          reason: 'Error',
          message: 'bye',
          startedAt: '2026-01-02T03:04:05Z',
          finishedAt: '2026-01-02T03:04:07Z',
          containerID: 'docker://c-0',
        },
      },
      ready: false,
      started: false,
    });
    expect(first(seen('c', exited(143, { signal: 15 })))?.state?.terminated).not.toHaveProperty('signal');
  });

  it.each([
    ['Completed', exited(0)],
    ['Error', exited(1)],
    ['OOMKilled', exited(137, { oomKilled: true })],
    ['OOMKilled', exited(0, { oomKilled: true })],
    ['StartError', exited(128, { reason: 'StartError' })],
  ] as const)('says %s for %j', (reason, state) => {
    expect(first(seen('c', state))?.state?.terminated?.reason).toBe(reason);
  });

  it('of a container that never ran started at the epoch', () => {
    const { startedAt: _, ...never } = exited(128, { reason: 'StartError' });
    expect(first(seen('c', never))?.state?.terminated?.startedAt).toBe('1970-01-01T00:00:00Z');
  });

  // reference 1.7.3
  it('shares 12 KiB of termination messages among the containers and cuts between characters', () => {
    const pod = makePod({ spec: { containers: [makeContainer('a'), makeContainer('c'), makeContainer('d')] } });
    const message = 'é'.repeat(3_000);
    const status = statuses(seen('c', exited(1, { message: `x${message}` })), { pod }).containerStatuses?.[1];
    expect(status?.state?.terminated?.message).toBe(`x${'é'.repeat(2_047)}`);
  });

  it('keeps the volume mounts that were written first', () => {
    const volumeMounts = [{ name: 'd', mountPath: '/d' }];
    const previous = recorded({ volumeMounts });
    expect(first(seen('c', running()), { previous })?.volumeMounts).toEqual(volumeMounts);
  });

  it('is ready only when probes say so', () => {
    const probes = { started: () => true, ready: () => false };
    expect(first(seen('c', running()), { probes })).toMatchObject({ started: true, ready: false });
    const notStarted = { started: () => false, ready: () => true };
    expect(first(seen('c', running()), { probes: notStarted })).toMatchObject({ started: false, ready: false });
  });
});

describe('the statuses of a pod', () => {
  it('sort main and ephemeral containers by name and leave init ones in spec order', () => {
    const ephemeral = (name: string) => ({ name, image: 'i' });
    const pod = makePod({
      spec: {
        containers: [makeContainer('b'), makeContainer('a')],
        initContainers: [makeContainer('z'), makeContainer('y')],
        ephemeralContainers: [ephemeral('n'), ephemeral('m')],
      },
    });
    const all = statuses([], { pod });
    const names = (list: readonly ContainerStatus[] | undefined) => list?.map(({ name }) => name);
    expect(names(all.containerStatuses)).toEqual(['a', 'b']);
    expect(names(all.initContainerStatuses)).toEqual(['z', 'y']);
    expect(names(all.ephemeralContainerStatuses)).toEqual(['m', 'n']);
  });

  it('wait for the init containers, all of them', () => {
    const pod = makePod({ spec: { initContainers: [makeContainer('i')] } });
    const all = statuses([], { pod });
    for (const status of [...(all.containerStatuses ?? []), ...(all.initContainerStatuses ?? [])]) {
      expect(status.state).toEqual({ waiting: { reason: 'PodInitializing' } });
    }
  });

  it('of ephemeral containers know neither started nor ready', () => {
    const pod = makePod({ spec: { ephemeralContainers: [{ name: 'dbg', image: 'i' }] } });
    const [status] = statuses(seen('dbg', running()), { pod }).ephemeralContainerStatuses ?? [];
    expect(status).toMatchObject({ ready: false, state: { running: {} }, resources: {} });
    expect(status).not.toHaveProperty('started');
  });

  it('of plain init containers are ready when they ended well', () => {
    const pod = makePod({ spec: { initContainers: [makeContainer('i')] } });
    const init = (state: ObservedContainer['state']) => statuses(seen('i', state), { pod }).initContainerStatuses?.[0];
    expect(init(exited(0))).toMatchObject({ ready: true, started: false });
    expect(init(exited(1))).toMatchObject({ ready: false, started: false });
    expect(init(running())).toMatchObject({ ready: false, started: true });
  });
});

// reference 1.4, 1.5
describe('restarts', () => {
  const twice = [makeObservedContainer('c', exited(1)), makeObservedContainer('c', running(), { attempt: 1 })];

  it('show the run before as lastState, as the backend remembers it', () => {
    expect(first(twice)).toMatchObject({
      restartCount: 1,
      state: { running: {} },
      lastState: { terminated: { exitCode: 1, containerID: 'docker://c-0' } },
    });
  });

  it('show it from the last status when the backend has forgotten it', () => {
    const terminated = { exitCode: 5, reason: 'Error', containerID: 'docker://c-0' };
    const previous = recorded({ state: { terminated }, containerID: 'docker://c-0' });
    expect(first(seen('c', running(), { attempt: 1 }), { previous })?.lastState).toEqual({ terminated });
    const waiting = recorded({ state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated } });
    expect(first(seen('c', running(), { attempt: 1 }), { previous: waiting })?.lastState).toEqual({ terminated });
  });

  it('are never counted lower than before', () => {
    expect(
      first(seen('c', running()), { previous: recorded({ restartCount: 4, state: { running: {} } }) })?.restartCount,
    ).toBe(4);
  });

  it('count once more when a backend that lost everything runs the container again', () => {
    const previous = recorded({ restartCount: 4, state: { terminated: { exitCode: 1 } }, containerID: 'docker://old' });
    expect(first(seen('c', running()), { previous })?.restartCount).toBe(5);
  });
});

// reference 1.5
describe('a reason to wait', () => {
  const waiting = new Map([['c', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);

  it('is shown for an exited container that restarts, whose end moves to lastState', () => {
    expect(first(seen('c', exited(1)), { waiting })).toMatchObject({
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } },
      lastState: { terminated: { exitCode: 1 } },
      containerID: 'docker://c-0',
    });
  });

  it('is shown for a container that was never made', () => {
    const failure = new Map([['c', { reason: 'ErrImagePull', message: 'm' }]]);
    expect(first([], { waiting: failure })?.state).toEqual({ waiting: { reason: 'ErrImagePull', message: 'm' } });
  });

  it.each<[string, Partial<ContainersInput>]>([
    ['does not restart', { pod: makePod({ spec: { restartPolicy: 'Never' } }) }],
    ['belongs to a deleted pod', { pod: makePod({ metadata: DELETED }) }],
    ['belongs to a pod that is being stopped', { terminating: true }],
  ])('is not shown for a container that %s', (_, more) => {
    expect(first(seen('c', exited(1)), { waiting, ...more })?.state?.terminated?.exitCode).toBe(1);
  });

  it('is not shown while the container runs', () => {
    expect(first(seen('c', running()), { waiting })?.state).toHaveProperty('running');
  });

  it('is not shown for an init container that ended well', () => {
    const pod = makePod({ spec: { initContainers: [makeContainer('c')], containers: [makeContainer('m')] } });
    expect(statuses(seen('c', exited(0)), { pod, waiting }).initContainerStatuses?.[0]?.state).toHaveProperty(
      'terminated',
    );
  });
});

// reference 1.5, 17.1.4
describe('a container that the backend does not know any more', () => {
  const wasRunning = recorded({
    state: { running: { startedAt: '2026-01-02T03:00:00Z' } },
    containerID: 'docker://c-0',
  });
  const lost = {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was deleted.  The container used to be Running',
    startedAt: null,
    finishedAt: null,
  };

  it('and that was running is lost, and its next start is a restart', () => {
    expect(first([], { previous: wasRunning })).toMatchObject({
      state: { waiting: { reason: 'ContainerCreating' } },
      lastState: { terminated: lost },
      restartCount: 1,
    });
  });

  it('is lost without a restart when the pod is deleted', () => {
    const pod = makePod({ metadata: DELETED });
    expect(first([], { pod, previous: wasRunning })).toMatchObject({
      lastState: { terminated: lost },
      restartCount: 0,
    });
  });

  it('and that had ended keeps its end', () => {
    const previous = recorded({ state: { terminated: { exitCode: 3 } }, containerID: 'docker://c-0', restartCount: 2 });
    expect(first([], { previous })).toMatchObject({ state: { terminated: { exitCode: 3 } }, restartCount: 2 });
  });

  it('and that was an init container has ended well if a main container exists', () => {
    const pod = makePod({ spec: { initContainers: [makeContainer('i')] } });
    const [status] = statuses(seen('c', running()), { pod }).initContainerStatuses ?? [];
    expect(status).toMatchObject({ ready: true, state: { terminated: { exitCode: 0, reason: 'Completed' } } });
    expect(status?.state?.terminated?.message).toMatch(/^Unable to get init container status from container runtime/);
  });

  it('and whose state the backend cannot tell is lost if it was running', () => {
    const unknown = { status: 'unknown', message: 'host unreachable' } as const;
    const status = first(seen('c', unknown), { previous: wasRunning });
    expect(status).toMatchObject({ restartCount: 1, state: { terminated: { exitCode: 137 } } });
    const again = status === undefined ? {} : { containerStatuses: [status] };
    expect(first(seen('c', unknown), { previous: again })).toEqual(status);
    expect(first(seen('c', unknown))?.state).toEqual({ waiting: {} });
  });
});

// reference 1.5, last line
it('a terminated container that may not restart stays terminated', () => {
  const pod: Pod = makePod({ spec: { restartPolicy: 'OnFailure' } });
  const previous = recorded({ state: { terminated: { exitCode: 0 } }, containerID: 'docker://c-0' });
  expect(first(seen('c', running(), { attempt: 1 }), { pod, previous })?.state).toEqual({
    terminated: { exitCode: 0 },
  });
});
