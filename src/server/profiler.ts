import { Session } from 'node:inspector/promises';
import type { Clock } from '../util/clock.ts';

export type Profile = 'cpu' | 'heap';

/** Bytes between two samples of allocations; V8's own default. */
const HEAP_SAMPLING_BYTES = 32_768;

/**
 * Profiles of the own process, one at a time. Never a heap snapshot: that would hold every Secret and token in memory, while
 * profiles name functions only.
 */
export class Profiler {
  readonly #clock: Pick<Clock, 'sleep'>;
  #running = false;

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  get running(): boolean {
    return this.#running;
  }

  /** In the format of the developer tools: .cpuprofile, .heapprofile. */
  async take(kind: Profile, durationMs: number, { signal }: { readonly signal: AbortSignal }): Promise<object> {
    if (this.#running) throw new Error('a profile is being taken already');
    this.#running = true;
    const session = new Session();
    try {
      // To the own thread: no port is opened.
      session.connect();
      if (kind === 'cpu') {
        await session.post('Profiler.enable');
        await session.post('Profiler.start');
        await this.#clock.sleep(durationMs, { signal });
        return (await session.post('Profiler.stop')).profile;
      }
      await session.post('HeapProfiler.startSampling', { samplingInterval: HEAP_SAMPLING_BYTES });
      await this.#clock.sleep(durationMs, { signal });
      return (await session.post('HeapProfiler.stopSampling')).profile;
    } finally {
      // Ends what was begun, too.
      session.disconnect();
      this.#running = false;
    }
  }
}
