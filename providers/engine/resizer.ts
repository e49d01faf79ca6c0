import type { CallOptions, ProviderContext, TerminalSize } from '../contract/index.ts';

const TRIES = 20;
const RETRY_STEP_MS = 10;

/**
 * Sizes of a terminal on their way to the engine: one call at a time, because calls side by side overtake each other; the newest size
 * wins; and again for a while, because a command that is only just starting has no terminal yet (streaming.md, 7).
 */
export class Resizer {
  readonly #tell: (size: TerminalSize) => Promise<unknown>;
  readonly #clock: ProviderContext['clock'];
  readonly #signal: AbortSignal;
  #next: TerminalSize | undefined;
  #busy = false;

  constructor(
    tell: (size: TerminalSize) => Promise<unknown>,
    clock: ProviderContext['clock'],
    { signal }: CallOptions,
  ) {
    this.#tell = tell;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** A size of nothing is what a client sends that does not know yet. */
  resize(size: TerminalSize): void {
    if (!(size.columns > 0 && size.rows > 0)) return;
    this.#next = size;
    // Never rejects.
    if (!this.#busy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#busy = true;
    for (let failures = 0; this.#next !== undefined && !this.#signal.aborted; ) {
      const size = this.#next;
      this.#next = undefined;
      try {
        await this.#tell(size);
        failures = 0;
      } catch {
        // A command that has ended has no terminal either, so this is given up without a word.
        failures++;
        if (failures >= TRIES) break;
        this.#next ??= size;
        await this.#clock.sleep(RETRY_STEP_MS * failures, { signal: this.#signal }).catch(() => {});
      }
    }
    this.#busy = false;
  }
}
