import type { ProviderContext } from '../contract/index.ts';

/** How long a volume that the engine would not let go is left alone. */
const TRY_AGAIN_MS = 5 * 60_000;

/**
 * Volumes that the engine refuses to remove although no container is left to use them. Engines before 24 count the users of a tmpfs
 * wrongly after a restart with live-restore ("volume has active mounts"), and let go of it only at their next restart. A pod must
 * not wait for that to end: such a volume counts as gone until it is worth another try.
 */
export class HeldVolumes {
  readonly #clock: Pick<ProviderContext['clock'], 'now'>;
  readonly #until = new Map<string, number>();

  constructor(clock: Pick<ProviderContext['clock'], 'now'>) {
    this.#clock = clock;
  }

  add(name: string): void {
    this.#until.set(name, this.#clock.now() + TRY_AGAIN_MS);
  }

  has(name: string): boolean {
    const until = this.#until.get(name);
    if (until !== undefined && this.#clock.now() >= until) this.#until.delete(name);
    return this.#until.has(name);
  }

  delete(name: string): void {
    this.#until.delete(name);
  }

  /** The engine may have been restarted: whatever it held, it may let go now. */
  clear(): void {
    this.#until.clear();
  }
}
