import { PassThrough, Readable } from 'node:stream';
import type {
  ContainerState,
  ExecExit,
  ExecFacet,
  ExecRequest,
  ObservedPod,
} from '../../../providers/contract/index.ts';
import type { Container, Pod, PodStatus } from '../../model/pod.ts';
import type { PodEvent, ProbeInput } from '../../pod/ports.ts';
import { makeContainer, makeObservedContainer, makeObservedPod, makePod, START_MS } from '../../testing/builders.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import type { ProbeLabels } from '../metrics.ts';
import { Prober } from '../prober.ts';

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

export const probe = (word: string, overrides: Partial<NonNullable<Container['livenessProbe']>> = {}) => ({
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

export function setUp({ upMs = 3_600_000, random = () => 0.5, exec: hasExec = true }: Setup = {}) {
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

export function podWith(probes: Partial<Container>, spec: Partial<Pod['spec']> = {}, status?: PodStatus): Pod {
  return makePod({ spec: { containers: [makeContainer('c', probes)], ...spec }, ...(status ? { status } : {}) });
}
