import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import {
  type ContainerState,
  type ExecExit,
  type ExecFacet,
  type ExecRequest,
  type ObservedPod,
  ProviderError,
} from '../../providers/contract/index.ts';
import type { Container, Pod, PodStatus } from '../model/pod.ts';
import type { PodEvent, ProbeInput } from '../pod/ports.ts';
import {
  exited,
  makeContainer,
  makeObservedContainer,
  makeObservedPod,
  makePod,
  POD_UID,
  running,
  START_MS,
} from '../testing/builders.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { ProbeLabels } from './metrics.ts';
import { Prober } from './prober.ts';

type Outcome = { readonly code: number; readonly output?: string } | Error | 'hang';

/** Commands of a backend: each is answered by its first word. */
class FakeExec implements ExecFacet {
  readonly answers = new Map<string, Outcome>();
  readonly calls: { readonly atMs: number; readonly word: string; readonly attempt: number }[] = [];
  readonly requests: ExecRequest[] = [];
  pending = 0;
  readonly #clock: FakeClock;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  exec: ExecFacet['exec'] = async (ref, request, { signal }) => {
    const word = request.command[0] ?? '';
    this.calls.push({ atMs: this.#clock.now() - START_MS, word, attempt: ref.attempt });
    this.requests.push(request);
    const outcome = this.answers.get(word) ?? { code: 0 };
    if (outcome instanceof Error) throw outcome;
    const exit = Promise.withResolvers<ExecExit>();
    const stdout = outcome === 'hang' ? new PassThrough() : Readable.from([Buffer.from(outcome.output ?? '')]);
    const stderr = outcome === 'hang' ? new PassThrough() : Readable.from([]);
    this.pending++;
    if (outcome === 'hang') {
      signal.addEventListener('abort', () => exit.resolve({ type: 'failed', error: new Error('aborted') }));
    } else {
      // After both outputs, as the contract says.
      stderr.on('end', () => exit.resolve({ type: 'exited', code: outcome.code }));
    }
    void exit.promise.then(() => this.pending--);
    return { stdout, stderr, resize: () => undefined, exit: exit.promise };
  };

  at(word: string): readonly number[] {
    return this.calls.filter((call) => call.word === word).map(({ atMs }) => atMs);
  }
}

const probe = (word: string, overrides: Partial<NonNullable<Container['livenessProbe']>> = {}) => ({
  exec: { command: [word] },
  timeoutSeconds: 1,
  periodSeconds: 10,
  successThreshold: 1,
  failureThreshold: 3,
  ...overrides,
});

interface Setup {
  readonly upMs?: number;
  readonly random?: () => number;
  readonly exec?: boolean;
}

function setUp({ upMs = 3_600_000, random = () => 0.5, exec: hasExec = true }: Setup = {}) {
  const clock = new FakeClock(START_MS);
  const exec = new FakeExec(clock);
  const events: PodEvent[] = [];
  const notified: string[] = [];
  const metrics: string[] = [];
  const errors: object[] = [];
  const life = new AbortController();
  const label = ({ probeType, container }: ProbeLabels): string => `${probeType} ${container}`;
  const prober = new Prober({
    ...(hasExec ? { exec } : {}),
    events: { pod: (_, event) => void events.push(event) },
    notify: (uid) => void notified.push(uid),
    metrics: {
      answered: (labels, result, seconds) => void metrics.push(`${label(labels)} ${result} ${seconds}`),
      ended: (labels) => void metrics.push(`${label(labels)} ended`),
    },
    processStartMs: START_MS - upMs,
    clock,
    random,
    log: { debug: () => undefined, error: (fields: object) => void errors.push(fields) },
    signal: life.signal,
  });
  /** One step of a worker: what is observed, the status made of it, and the word to the prober. */
  const turn = (pod: Pod, observed: ObservedPod | undefined, input: Partial<ProbeInput> = {}): void => {
    prober.observe(pod, observed);
    const status: PodStatus = { phase: 'Running', podIP: '10.0.0.7' };
    prober.sync({ pod, observed, status, stopping: false, ...input });
  };
  const container = (state: ContainerState, attempt = 0, name = 'c'): ObservedPod =>
    makeObservedPod({ containers: [makeObservedContainer(name, state, { attempt })] });
  return { clock, exec, events, notified, metrics, errors, life, prober, turn, container };
}

function podWith(probes: Partial<Container>, spec: Partial<Pod['spec']> = {}, status?: PodStatus): Pod {
  return makePod({ spec: { containers: [makeContainer('c', probes)], ...spec }, ...(status ? { status } : {}) });
}

describe('when probes are asked (kubelet: prober/worker.go)', () => {
  it('a running container is asked at once and then each period', async () => {
    const { clock, exec, turn, container } = setUp();
    turn(podWith({ livenessProbe: probe('live') }), container(running()));
    await clock.advance(25_000);
    expect(exec.at('live')).toEqual([0, 10_000, 20_000]);
  });

  it('any number of looks at the pod starts one loop, and asks a ready container no more often', async () => {
    const { clock, exec, turn, container } = setUp();
    const pod = podWith({ readinessProbe: probe('ready'), livenessProbe: probe('live') });
    turn(pod, container(running()));
    await clock.advance(1_000);
    for (let i = 0; i < 100; i++) turn(pod, container(running()));
    await clock.advance(10_000);
    expect([exec.at('ready'), exec.at('live')]).toEqual([
      [0, 10_000],
      [0, 10_000],
    ]);
  });

  it('a container that is not ready is asked out of turn when the pod is looked at, at most once a second', async () => {
    const { clock, exec, turn, container } = setUp();
    exec.answers.set('ready', { code: 1 });
    const pod = podWith({ readinessProbe: probe('ready') });
    turn(pod, container(running()));
    await clock.advance(3_000);
    for (let i = 0; i < 50; i++) turn(pod, container(running()));
    await clock.advance(0);
    for (let i = 0; i < 50; i++) turn(pod, container(running()));
    // The one at 3 s moves the ticks; the second hundred looks come to one question a second later.
    await clock.advance(12_000);
    expect(exec.at('ready')).toEqual([0, 3_000, 4_000, 14_000]);
  });

  it('a process that has just started spreads the first questions over the period', async () => {
    const { clock, exec, turn, container } = setUp({ upMs: 2_000, random: () => 0.4 });
    const pod = podWith({ readinessProbe: probe('ready') });
    turn(pod, container(running()));
    turn(pod, container(running()));
    await clock.advance(15_000);
    expect(exec.at('ready')).toEqual([4_000, 14_000]);
  });

  it('nothing is asked before initialDelaySeconds', async () => {
    const { clock, exec, turn, container } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 2, initialDelaySeconds: 5 }) });
    turn(pod, container(running()));
    await clock.advance(9_000);
    expect(exec.at('ready')).toEqual([6_000, 8_000]);
  });

  it('a clock that is set back by an hour keeps nobody from asking', async () => {
    const { clock, exec, turn, container } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 2, initialDelaySeconds: 5 }) });
    turn(pod, container(running()));
    await clock.advance(3_000);
    clock.set(START_MS - 3_600_000);
    await clock.advance(6_000);
    expect(exec.calls.length).toBeGreaterThanOrEqual(1);
    clock.set(START_MS - 7_200_000);
    const before = exec.calls.length;
    await clock.advance(10_000);
    expect(exec.calls.length).toBe(before + 5);
  });

  it('until a container has started only its startup probe asks, and after that it never does', async () => {
    const { clock, exec, turn, container, prober, notified } = setUp();
    const pod = podWith({
      startupProbe: probe('start', { periodSeconds: 1 }),
      readinessProbe: probe('ready'),
      livenessProbe: probe('live'),
    });
    exec.answers.set('start', { code: 1 });
    turn(pod, container(running()));
    await clock.advance(1_500);
    expect([exec.at('ready'), exec.at('live'), prober.started(POD_UID, 'c', 0)]).toEqual([[], [], false]);
    exec.answers.set('start', { code: 0 });
    await clock.advance(1_000);
    expect([prober.started(POD_UID, 'c', 0), notified]).toEqual([true, [POD_UID]]);
    // The look that follows asks for readiness at once, not at its next tick.
    turn(pod, container(running()));
    await clock.advance(500);
    expect([exec.at('start'), exec.at('ready')]).toEqual([[0, 1_000, 2_000], [2_500]]);
    await clock.advance(10_000);
    expect(exec.at('start')).toHaveLength(3);
    expect(exec.at('live')).toEqual([10_000]);
  });

  it('one question at a time: a slow answer swallows the ticks that pass meanwhile', async () => {
    const { clock, exec, turn, container } = setUp();
    exec.answers.set('live', 'hang');
    turn(podWith({ livenessProbe: probe('live', { periodSeconds: 1, timeoutSeconds: 4 }) }), container(running()));
    await clock.advance(8_500);
    expect(exec.at('live')).toEqual([0, 4_000, 8_000]);
    expect(exec.pending).toBe(1);
  });

  it('pods without probes cost nothing and are always started and ready', async () => {
    const { clock, prober, turn, container } = setUp();
    turn(podWith({}), container(running()));
    await clock.advance(60_000);
    expect([prober.started(POD_UID, 'c', 0), prober.ready(POD_UID, 'c', 0)]).toEqual([true, true]);
    expect(prober.failure(POD_UID, 'c', 0)).toBeUndefined();
  });
});

describe('what comes of the answers', () => {
  it('readiness follows its thresholds; each change asks for a look at the pod', async () => {
    const { clock, exec, turn, container, prober, notified } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 1, failureThreshold: 2 }) });
    turn(pod, container(running()));
    expect(prober.ready(POD_UID, 'c', 0)).toBe(false);
    await clock.advance(500);
    expect([prober.ready(POD_UID, 'c', 0), notified.length]).toEqual([true, 1]);
    exec.answers.set('ready', { code: 1, output: 'no\n' });
    await clock.advance(1_000);
    expect(prober.ready(POD_UID, 'c', 0)).toBe(true);
    await clock.advance(1_000);
    expect([prober.ready(POD_UID, 'c', 0), notified.length]).toEqual([false, 2]);
  });

  it('a failed liveness probe stays failed until another incarnation runs, which starts anew', async () => {
    const { clock, exec, turn, container, prober } = setUp();
    exec.answers.set('live', { code: 1 });
    const pod = podWith({
      livenessProbe: probe('live', { periodSeconds: 1, failureThreshold: 2, terminationGracePeriodSeconds: 7 }),
    });
    turn(pod, container(running()));
    await clock.advance(5_000);
    expect(prober.failure(POD_UID, 'c', 0)).toEqual({ probe: 'liveness', graceSeconds: 7 });
    expect(exec.at('live')).toEqual([0, 1_000]);
    turn(pod, container(exited(137)));
    turn(pod, container(running(START_MS + 5_000), 1));
    expect([prober.failure(POD_UID, 'c', 1), prober.failure(POD_UID, 'c', 0)]).toEqual([undefined, undefined]);
    await clock.advance(2_000);
    expect(exec.calls.slice(2).map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('a failed startup probe says so, with its own grace period', async () => {
    const { clock, exec, turn, container, prober } = setUp();
    exec.answers.set('start', { code: 1 });
    const pod = podWith({ startupProbe: probe('start', { periodSeconds: 1, failureThreshold: 1 }) });
    turn(pod, container(running()));
    await clock.advance(100);
    expect([prober.failure(POD_UID, 'c', 0), prober.started(POD_UID, 'c', 0)]).toEqual([{ probe: 'startup' }, false]);
  });

  it('an incarnation that was never seen is neither started nor ready', () => {
    const { turn, container, prober } = setUp();
    turn(podWith({ startupProbe: probe('start'), readinessProbe: probe('ready') }), container(running()));
    expect([prober.started(POD_UID, 'c', 1), prober.ready(POD_UID, 'c', 1)]).toEqual([false, false]);
  });

  it('an answer about an incarnation that has ended meanwhile is dropped, and so is its event', async () => {
    const { clock, exec, events, turn, container, prober } = setUp();
    exec.answers.set('live', 'hang');
    const pod = podWith({ livenessProbe: probe('live', { failureThreshold: 1 }) });
    turn(pod, container(running()));
    await clock.advance(500);
    turn(pod, container(exited(1)));
    await clock.advance(5_000);
    expect([events, prober.failure(POD_UID, 'c', 0), exec.pending]).toEqual([[], undefined, 0]);
  });

  it('a container that ended and may not run again is not asked any more', async () => {
    const { clock, exec, metrics, turn, container } = setUp();
    const pod = podWith({ livenessProbe: probe('live', { periodSeconds: 1 }) }, { restartPolicy: 'Never' });
    turn(pod, container(running()));
    await clock.advance(1_500);
    turn(pod, container(exited(1)));
    await clock.advance(5_000);
    expect([exec.calls.length, metrics.at(-1)]).toEqual([2, 'Liveness c ended']);
  });

  it('sidecars are probed, plain init containers are not', async () => {
    const { clock, exec, events, turn } = setUp();
    exec.answers.set('side', { code: 1 });
    const initContainers = [
      makeContainer('plain', { livenessProbe: probe('plain') }),
      makeContainer('side', { restartPolicy: 'Always', readinessProbe: probe('side') }),
    ];
    const observed = makeObservedPod({
      containers: [makeObservedContainer('plain', running()), makeObservedContainer('side', running())],
    });
    turn(makePod({ spec: { initContainers, containers: [makeContainer()] } }), observed);
    await clock.advance(100);
    expect(exec.calls.map(({ word }) => word)).toEqual(['side']);
    expect(events.map(({ fieldPath }) => fieldPath)).toEqual(['spec.initContainers{side}']);
  });
});

describe('what is told (reference 3.3)', () => {
  it('a failure, with its output', async () => {
    const { clock, exec, events, metrics, turn, container } = setUp();
    exec.answers.set('live', { code: 2, output: "cat: can't open '/tmp/live': No such file or directory\n" });
    turn(podWith({ livenessProbe: probe('live') }), container(running()));
    await clock.advance(100);
    expect(events).toEqual([
      {
        type: 'Warning',
        reason: 'Unhealthy',
        message: "Liveness probe failed: cat: can't open '/tmp/live': No such file or directory\n",
        fieldPath: 'spec.containers{c}',
      },
    ]);
    expect(metrics).toEqual(['Liveness c failed 0']);
  });

  it('a command that takes too long, in the words of the kubelet, and it is ended', async () => {
    const { clock, exec, events, metrics, turn, container } = setUp();
    exec.answers.set('sleep', 'hang');
    turn(podWith({ readinessProbe: { ...probe('sleep'), exec: { command: ['sleep', '9 "'] } } }), container(running()));
    await clock.advance(1_000);
    expect(events.map(({ message }) => message)).toEqual([
      'Readiness probe failed: command timed out: "sleep 9 \\"" timed out after 1s',
    ]);
    expect([exec.pending, exec.requests[0]?.killOnAbort, metrics]).toEqual([0, true, ['Readiness c failed 1']]);
  });

  it('an error after three tries, and the result stays', async () => {
    const { clock, exec, events, metrics, turn, container, prober } = setUp();
    const pod = podWith({ livenessProbe: probe('live', { periodSeconds: 1, failureThreshold: 1 }) });
    exec.answers.set('live', new ProviderError('Internal', 'no such command'));
    turn(pod, container(running()));
    await clock.advance(500);
    expect(exec.calls).toHaveLength(3);
    expect(events.map(({ reason, message }) => [reason, message])).toEqual([
      ['Unhealthy', 'Liveness probe errored and resulted in unknown state: no such command'],
    ]);
    expect([prober.failure(POD_UID, 'c', 0), metrics]).toEqual([undefined, []]);
  });

  it('nothing while the backend is away: neither result nor event', async () => {
    const { clock, exec, events, turn, container, prober } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 1, failureThreshold: 1 }) });
    turn(pod, container(running()));
    await clock.advance(500);
    exec.answers.set('ready', new ProviderError('Unavailable', 'socket hang up'));
    await clock.advance(10_000);
    expect([prober.ready(POD_UID, 'c', 0), events, exec.calls.length]).toEqual([true, [], 11]);
  });

  it('a pod that slipped through to a backend that cannot run commands', async () => {
    const { clock, events, turn, container } = setUp({ exec: false });
    turn(podWith({ livenessProbe: probe('live') }), container(running()));
    await clock.advance(100);
    expect(events[0]?.message).toBe(
      'Liveness probe errored and resulted in unknown state: the provider cannot run commands in containers',
    );
  });
});

describe('the end', () => {
  it('a pod that is stopped: liveness and startup end as successful and quietly, readiness goes on (reference 4.2.6)', async () => {
    const { clock, exec, events, turn, container, prober } = setUp();
    const pod = podWith({
      livenessProbe: probe('live', { periodSeconds: 1, failureThreshold: 1 }),
      readinessProbe: probe('ready', { periodSeconds: 1 }),
    });
    turn(pod, container(running()));
    await clock.advance(500);
    exec.answers.set('live', 'hang');
    await clock.advance(1_000);
    turn(pod, container(running()), { stopping: true });
    exec.answers.set('live', { code: 1 });
    await clock.advance(3_000);
    expect([exec.at('live'), events, prober.failure(POD_UID, 'c', 0)]).toEqual([[0, 1_000], [], undefined]);
    expect(exec.at('ready')).toHaveLength(5);
  });

  it('a pod that has ended', async () => {
    const { clock, exec, turn, container } = setUp();
    const pod = podWith({ readinessProbe: probe('ready', { periodSeconds: 1 }) });
    turn(pod, container(running()));
    await clock.advance(500);
    turn(pod, container(running()), { status: { phase: 'Failed' } });
    await clock.advance(5_000);
    expect(exec.calls).toHaveLength(1);
  });

  it('forgetting a pod ends everything of it, also what is under way', async () => {
    const { clock, exec, events, metrics, turn, container, prober } = setUp();
    exec.answers.set('live', 'hang');
    turn(podWith({ livenessProbe: probe('live'), readinessProbe: probe('ready') }), container(running()));
    await clock.advance(500);
    prober.forget(POD_UID);
    await clock.advance(60_000);
    expect([exec.calls.length, exec.pending, events]).toEqual([2, 0, []]);
    expect(metrics.filter((line) => line.endsWith('ended'))).toEqual(['Readiness c ended', 'Liveness c ended']);
    expect(prober.ready(POD_UID, 'c', 0)).toBe(true);
  });

  it('the end of the node ends all questions and changes no result', async () => {
    const { clock, exec, life, turn, container, prober } = setUp();
    exec.answers.set('ready', { code: 1 });
    const pod = podWith({ readinessProbe: probe('ready') });
    turn(pod, container(running()));
    await clock.advance(100);
    life.abort();
    turn(pod, container(running()));
    await clock.advance(60_000);
    expect([exec.calls.length, prober.ready(POD_UID, 'c', 0)]).toEqual([1, false]);
  });
});

describe('a restart of Outrigger (reference 4.8)', () => {
  const readyStatus = (overrides: Partial<PodStatus> = {}): PodStatus => ({
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [
      {
        name: 'c',
        containerID: 'docker://c-0',
        image: 'i',
        imageID: '',
        ready: true,
        started: true,
        restartCount: 0,
        state: { running: {} },
      },
    ],
    ...overrides,
  });
  const probes = { startupProbe: probe('start'), readinessProbe: probe('ready'), livenessProbe: probe('live') };

  it('what was started and ready stays so, and startup is not asked again', async () => {
    const { clock, exec, turn, container, prober } = setUp({ upMs: 0 });
    exec.answers.set('start', { code: 1 });
    const pod = podWith(probes, {}, readyStatus());
    prober.observe(pod, container(running(START_MS - 60_000)));
    expect([prober.started(POD_UID, 'c', 0), prober.ready(POD_UID, 'c', 0)]).toEqual([true, true]);
    turn(pod, container(running(START_MS - 60_000)));
    await clock.advance(6_000);
    expect(exec.calls.map(({ word }) => word)).toEqual(['ready', 'live']);
    expect(prober.ready(POD_UID, 'c', 0)).toBe(true);
  });

  it('a pod that was not ready is not, and a container that had not started has not', () => {
    const { container, prober } = setUp({ upMs: 0 });
    const [status] = readyStatus().containerStatuses ?? [];
    if (status === undefined) throw new Error('no status');
    const pod = podWith(
      probes,
      {},
      readyStatus({ conditions: [], containerStatuses: [{ ...status, started: false }] }),
    );
    prober.observe(pod, container(running(START_MS - 60_000)));
    expect([prober.started(POD_UID, 'c', 0), prober.ready(POD_UID, 'c', 0)]).toEqual([false, false]);
  });

  it('another container than the API server knows starts from the beginning', () => {
    const { container, prober } = setUp({ upMs: 0 });
    prober.observe(podWith(probes, {}, readyStatus()), container(running(START_MS - 1_000), 1));
    expect([prober.started(POD_UID, 'c', 1), prober.ready(POD_UID, 'c', 1)]).toEqual([false, false]);
  });

  it('fifty ready pods: nobody is told of a change', async () => {
    const { clock, exec, notified, turn, container } = setUp({ upMs: 0, random: Math.random });
    for (let i = 0; i < 50; i++) {
      const pod = podWith({ readinessProbe: probe('ready'), livenessProbe: probe('live') }, {}, readyStatus());
      pod.metadata.uid = `${POD_UID}-${i}`;
      turn(pod, container(running(START_MS - 60_000)));
    }
    await clock.advance(30_000);
    expect(notified).toEqual([]);
    expect(exec.calls.length).toBeGreaterThanOrEqual(300);
  });
});

it('a thousand probed pods hold one timer per probe and ask at once within a period', async () => {
  const { clock, exec, turn, container, prober } = setUp();
  let timers = 0;
  const timer = clock.timer.bind(clock);
  clock.timer = (ms, callback) => {
    timers++;
    const cancel = timer(ms, () => {
      timers--;
      callback();
    });
    let done = false;
    return () => {
      if (!done) timers--;
      done = true;
      cancel();
    };
  };
  for (let i = 0; i < 1_000; i++) {
    const pod = podWith({ readinessProbe: probe('ready') });
    pod.metadata.uid = `${POD_UID}-${i}`;
    turn(pod, container(running()));
  }
  await clock.advance(100);
  expect(exec.calls).toHaveLength(1_000);
  expect(timers).toBe(1_000);
  for (let i = 0; i < 1_000; i++) prober.forget(`${POD_UID}-${i}` as typeof POD_UID);
  expect(timers).toBe(0);
});
