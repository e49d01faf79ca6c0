import { isDeepStrictEqual } from 'node:util';
import { type HostReport, isProviderError } from '../../providers/contract/index.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort, untilAborted } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { RuntimeState } from './conditions.ts';
import type { HostSource } from './ports.ts';

const POLL_MS = 5_000;
/** While it fails, to tell a hiccup from an outage soon, and to see its end soon. */
const RETRY_MS = 1_000;
const DEADLINE_MS = 10_000;
/** A node that turns NotReady has all its pods marked not ready: one failed call alone must not do that. */
const FAILURES_TO_DOWN = 2;
/** A busy backend answers late; silence counts as down only after this long (the kubelet's own threshold, reference 16.1). */
const SILENCE_TO_DOWN_MS = 30_000;

export interface RuntimeHealthOptions {
  readonly provider: HostSource;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
  /** State or report changed. */
  readonly onChange: () => void;
}

/** Asks the backend every 5 s what machine it is, and thereby whether it is there (reference 5.8). */
export class RuntimeHealth {
  readonly #options: RuntimeHealthOptions;
  readonly #first = Promise.withResolvers<void>();
  #state: RuntimeState = { status: 'unchecked' };
  #report: HostReport | undefined;
  #failures = 0;
  #silentSince: number | undefined;

  constructor(options: RuntimeHealthOptions) {
    this.#options = options;
  }

  get state(): RuntimeState {
    return this.#state;
  }

  /** The last good one, also while the backend is down. */
  get report(): HostReport | undefined {
    return this.#report;
  }

  /** Resolves when the state is up or down for the first time. */
  get checked(): Promise<void> {
    return this.#first.promise;
  }

  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await this.#check(signal);
      // While it fails, often: the node is Ready again as soon as the backend is.
      const pauseMs = this.#failures > 0 ? RETRY_MS : POLL_MS;
      await clock.sleep(pauseMs, { signal }).catch(() => {}); // only an abort rejects; the loop's condition sees it
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { provider, clock } = this.#options;
    using call = new ChildAbort(signal);
    const late = new Error(`the backend did not answer within ${DEADLINE_MS / 1000} s`);
    const cancel = clock.timer(DEADLINE_MS, () => call.abort(late));
    const askedAt = clock.now();
    try {
      this.#good(await untilAborted(provider.describeHost({ signal: call.signal }), call.signal));
    } catch (error) {
      if (signal.aborted) return;
      if (call.signal.aborted) this.#silent(askedAt, late);
      else this.#bad(error);
    } finally {
      cancel();
    }
  }

  #good(report: HostReport): void {
    const { log, onChange } = this.#options;
    if (this.#state.status === 'down') log.info({ failures: this.#failures }, 'backend answers again');
    this.#failures = 0;
    this.#silentSince = undefined;
    const changed = this.#state.status !== 'up' || !isDeepStrictEqual(report, this.#report);
    this.#state = { status: 'up' };
    this.#report = report;
    this.#first.resolve();
    if (changed) onChange();
  }

  #bad(error: unknown): void {
    this.#failures++;
    if (this.#failures < FAILURES_TO_DOWN) return;
    const code = isProviderError(error) ? (error.reason ?? error.code) : 'Unavailable';
    this.#down({ status: 'down', reason: code, message: errorMessage(error) }, error);
  }

  #silent(askedAt: number, error: Error): void {
    this.#failures++;
    this.#silentSince ??= askedAt;
    if (this.#options.clock.now() - this.#silentSince < SILENCE_TO_DOWN_MS) return;
    this.#down({ status: 'down', reason: 'Unavailable', message: error.message }, error);
  }

  #down(state: RuntimeState, error: unknown): void {
    const { log, onChange } = this.#options;
    // One line per outage; the Ready condition carries the words meanwhile.
    if (this.#state.status !== 'down') log.warn({ err: error }, 'backend cannot be asked');
    const changed = !isDeepStrictEqual(state, this.#state);
    this.#state = state;
    this.#first.resolve();
    if (changed) onChange();
  }
}
