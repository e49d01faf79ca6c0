import { podUid } from '../model/pod.ts';
import type { EventSink } from '../pod/ports.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort } from '../util/abort.ts';
import { assertNever } from '../util/assert-never.ts';
import type { Clock } from '../util/clock.ts';
import type { Attempt } from './handlers/attempt.ts';
import type { ProbeLabels, ProbeMetrics } from './metrics.ts';
import type { Probe, ProbeRunner } from './runner.ts';
import {
  initialState,
  nextState,
  type ProbeAnswer,
  type ProbeKind,
  type ProbeState,
  type ProbeStep,
  type Thresholds,
} from './state.ts';
import type { SteadyClock } from './steady-clock.ts';
import type { Incarnation, ProbeSubject } from './subject.ts';

/** A readiness probe that is asked out of turn is not asked more often than this, however often a pod is looked at. */
const MIN_SPACING_MS = 1_000;

const WORDS: Readonly<Record<ProbeKind, string>> = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
};

export interface LoopDeps {
  readonly runner: Pick<ProbeRunner, 'ask'>;
  readonly events: EventSink;
  readonly metrics?: ProbeMetrics;
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly random: () => number;
  readonly processStartMs: number;
  readonly log: Pick<Logger, 'debug' | 'error'>;
  readonly signal: AbortSignal;
}

/** One probe of one container: asks at each tick of its period, as far as there is something to ask (reference 4.2; kubelet: worker.go). */
export class ProbeLoop {
  readonly kind: ProbeKind;
  readonly probe: Probe;
  readonly #deps: LoopDeps;
  readonly #subject: ProbeSubject;
  readonly #changed: () => void;
  readonly #thresholds: Thresholds;
  readonly #periodMs: number;
  readonly #labels: ProbeLabels;
  readonly #tick = (): void => this.#onTick();
  #state: ProbeState;
  /** Ends the timer; undefined while the loop is not running. */
  #cancel: (() => void) | undefined;
  #nextMs = 0;
  /** The first tick is put off, so that a process that starts does not ask everybody at once. */
  #spreading = false;
  #askedMs = Number.NEGATIVE_INFINITY;
  #asking: ChildAbort | undefined;
  /** A tick came while an answer was awaited. */
  #due = false;

  constructor(deps: LoopDeps, kind: ProbeKind, probe: Probe, subject: ProbeSubject, changed: () => void) {
    this.kind = kind;
    this.probe = probe;
    this.#deps = deps;
    this.#subject = subject;
    this.#changed = changed;
    this.#thresholds = { success: probe.successThreshold ?? 1, failure: probe.failureThreshold ?? 3 };
    this.#periodMs = (probe.periodSeconds ?? 10) * 1000;
    this.#state = initialState(kind);
    const { name, namespace } = subject.pod.metadata;
    const uid = podUid(subject.pod);
    this.#labels = { probeType: WORDS[kind], container: subject.container.name, pod: name, namespace, podUid: uid };
  }

  get state(): ProbeState {
    return this.#state;
  }

  get active(): boolean {
    return this.#cancel !== undefined;
  }

  /** Starts to tick. Many probes that begin with the process are spread over their periods. */
  begin(): void {
    const { clock, processStartMs, random } = this.#deps;
    if (this.active) return;
    // Not negative either: a clock that was set back must not spread every probe from then on.
    const upMs = clock.now() - processStartMs;
    this.#spreading = upMs >= 0 && upMs < this.#periodMs;
    if (this.#spreading) this.#arm(random() * this.#periodMs);
    else this.#onTick();
  }

  end(): void {
    if (!this.active) return;
    this.#cancel?.();
    this.#cancel = undefined;
    this.drop();
    this.#deps.metrics?.ended(this.#labels);
  }

  /** Forgets the answer that is awaited: it would be about something that is over. */
  drop(): void {
    this.#due = false;
    this.#asking?.abort(new Error('the probe is over'));
  }

  /** Whether the result is another one now. */
  step(step: ProbeStep): boolean {
    const before = this.#state;
    this.#state = nextState(this.kind, this.#thresholds, before, step);
    return before.result !== this.#state.result;
  }

  /** Asks out of turn, and goes on ticking from then (reference 4.2.2). An answer that is awaited is as good as another. */
  trigger(): void {
    if (!this.active || this.#spreading || this.#asking !== undefined) return;
    const nowMs = this.#deps.steady.now();
    const soonestMs = this.#askedMs + MIN_SPACING_MS;
    if (soonestMs <= nowMs) this.#onTick();
    else if (soonestMs < this.#nextMs) this.#arm(soonestMs - nowMs);
  }

  #onTick(): void {
    this.#spreading = false;
    this.#arm(this.#periodMs);
    if (this.#asking !== undefined) this.#due = true;
    else this.#askIfDue();
  }

  #arm(ms: number): void {
    this.#cancel?.();
    this.#nextMs = this.#deps.steady.now() + ms;
    this.#cancel = this.#deps.clock.timer(ms, this.#tick);
  }

  #askIfDue(): void {
    const { current, started } = this.#subject;
    if (current?.running !== true || this.#state.held) return;
    const upMs = this.#deps.steady.now() - current.startedMs;
    // Whole seconds, as the kubelet counts them (reference 4.2.3).
    if (Math.floor(upMs / 1000) < (this.probe.initialDelaySeconds ?? 0)) return;
    if (started === (this.kind === 'startup')) return;
    // It owns its failures.
    void this.#ask(current);
  }

  async #ask(incarnation: Incarnation): Promise<void> {
    const { runner, steady, signal, log } = this.#deps;
    const { pod, container, podIP } = this.#subject;
    using asking = new ChildAbort(signal);
    this.#asking = asking;
    this.#askedMs = steady.now();
    try {
      const ref = { podUid: podUid(pod), container: container.name, attempt: incarnation.attempt };
      const attempt = await runner.ask(this.probe, { pod, container, ref, podIP }, { signal: asking.signal });
      if (!asking.signal.aborted) this.#take(attempt, (steady.now() - this.#askedMs) / 1000);
    } catch (error: unknown) {
      log.error({ err: error, uid: podUid(pod), container: container.name, probe: this.kind }, 'probe cannot be run');
    }
    this.#asking = undefined;
    if (!this.#due || !this.active) return;
    this.#due = false;
    this.#askIfDue();
  }

  #take(attempt: Attempt, seconds: number): void {
    const event = eventOf(WORDS[this.kind], attempt);
    if (event !== undefined) this.#tell(event);
    // An outage is told once by who watches the backend; a thousand probes repeating it would hide everything else.
    if (attempt.type === 'away')
      this.#deps.log.debug({ err: attempt.error, ...this.#labels }, 'backend cannot be asked for a probe');
    else if (attempt.type !== 'errored') this.#answer(attempt.type === 'failure' ? 'failure' : 'success', seconds);
  }

  #answer(answer: ProbeAnswer, seconds: number): void {
    this.#deps.metrics?.answered(this.#labels, answer === 'success' ? 'successful' : 'failed', seconds);
    if (this.step({ type: 'answer', answer })) this.#changed();
  }

  #tell(event: ProbeEvent): void {
    const { pod, container } = this.#subject;
    const list = pod.spec.containers.some(({ name }) => name === container.name) ? 'containers' : 'initContainers';
    this.#deps.events.pod(pod, { type: 'Warning', ...event, fieldPath: `spec.${list}{${container.name}}` });
  }
}

type ProbeEvent = { readonly reason: 'Unhealthy' | 'ProbeWarning'; readonly message: string };

/** Reference 3.3. */
function eventOf(probe: string, attempt: Attempt): ProbeEvent | undefined {
  switch (attempt.type) {
    case 'success':
    case 'away':
      return undefined;
    case 'warning':
      return { reason: 'ProbeWarning', message: `${probe} probe warning: ${attempt.output}` };
    case 'failure':
      return { reason: 'Unhealthy', message: `${probe} probe failed: ${attempt.output}` };
    case 'errored': {
      const { state, message } = attempt;
      return { reason: 'Unhealthy', message: `${probe} probe errored and resulted in ${state} state: ${message}` };
    }
    default:
      return assertNever(attempt);
  }
}
