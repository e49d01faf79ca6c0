import type { CallOptions, ProviderContext } from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';

export type FakeMethod =
  | 'describeHost'
  | 'list'
  | 'inspect'
  | 'watch'
  | 'logs'
  | 'exec'
  | 'dial'
  | 'attach'
  | 'updateFiles'
  | 'readFile'
  | 'usage'
  | 'storage'
  | 'hostUsage'
  | 'imagePresent'
  | 'pullImage'
  | 'listImages'
  | 'removeImage'
  | 'ensureSandbox'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'stopSandbox'
  | 'removeSandbox'
  | 'launchPod'
  | 'stopPod'
  | 'removePod';

/** One line of the journal. `subject` is a pod uid, `uid/container#attempt` or an image; `detail` e.g. the grace period. */
export interface FakeCall {
  readonly at: number;
  readonly method: FakeMethod;
  readonly subject: string;
  readonly detail?: string;
}

type Fault =
  | { readonly type: 'fail'; readonly error: ProviderError }
  | { readonly type: 'lose' }
  | { readonly type: 'hang' };

/** Everything that can go wrong between a provider and its backend, and the record of what was asked. */
export class Faults {
  /** Every call, also those that failed; the oldest are dropped beyond `journalLimit`. */
  readonly calls: FakeCall[] = [];
  latencyMs = 0;
  journalLimit = 10_000;
  readonly #clock: ProviderContext['clock'];
  readonly #next = new Map<FakeMethod, Fault[]>();
  #unavailable: string | undefined;
  #hung: (() => void)[] = [];

  constructor(clock: ProviderContext['clock']) {
    this.#clock = clock;
  }

  /** The next `times` calls throw and do nothing. */
  failNext(method: FakeMethod, error: ProviderError, times = 1): void {
    this.#queue(method, { type: 'fail', error }, times);
  }

  /** The next `times` calls do their work, and then throw Unavailable all the same. */
  loseReply(method: FakeMethod, times = 1): void {
    this.#queue(method, { type: 'lose' }, times);
  }

  /** The next `times` calls do nothing until `release` or their signal. */
  hang(method: FakeMethod, times = 1): void {
    this.#queue(method, { type: 'hang' }, times);
  }

  /** Nothing that was told to go wrong goes wrong any more; calls that hang go on. */
  heal(): void {
    this.#next.clear();
    this.#unavailable = undefined;
    this.release();
  }

  /** Calls that hang go on. */
  release(): void {
    const hung = this.#hung;
    this.#hung = [];
    for (const resume of hung) resume();
  }

  /** While set, every call throws Unavailable with this message. */
  setUnavailable(message: string | undefined): void {
    this.#unavailable = message;
  }

  get unavailable(): ProviderError | undefined {
    return this.#unavailable === undefined ? undefined : new ProviderError('Unavailable', this.#unavailable);
  }

  /** Journal entries of one method, or of all driving methods together when none is named. */
  callsOf(...methods: readonly FakeMethod[]): readonly FakeCall[] {
    return this.calls.filter((call) => methods.includes(call.method));
  }

  async run<T>(call: Omit<FakeCall, 'at'>, { signal }: CallOptions, work: () => Promise<T> | T): Promise<T> {
    const fault = this.#begin(call);
    signal.throwIfAborted();
    if (this.latencyMs > 0) await this.#clock.sleep(this.latencyMs, { signal });
    if (fault?.type === 'hang') await this.#untilReleased(signal);
    this.#check(fault);
    const result = await work();
    if (fault?.type === 'lose') throw new ProviderError('Unavailable', `reply of ${call.method} lost`);
    return result;
  }

  /** For calls that give a stream: the fault shows when it is opened. */
  open(call: Omit<FakeCall, 'at'>): void {
    this.#check(this.#begin(call));
  }

  #begin(call: Omit<FakeCall, 'at'>): Fault | undefined {
    this.calls.push({ at: this.#clock.now(), ...call });
    if (this.calls.length > this.journalLimit) this.calls.shift();
    return this.#next.get(call.method)?.shift();
  }

  #check(fault: Fault | undefined): void {
    const unavailable = this.unavailable;
    if (unavailable !== undefined) throw unavailable;
    if (fault?.type === 'fail') throw fault.error;
  }

  #queue(method: FakeMethod, fault: Fault, times: number): void {
    const queue = this.#next.get(method) ?? [];
    for (let i = 0; i < times; i++) queue.push(fault);
    this.#next.set(method, queue);
  }

  #untilReleased(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#hung.push(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }
}
