import type { ContainerDetails } from './observe.ts';

/**
 * Details of containers that the engine would have to be asked for one by one. They are believed only while the engine
 * tells us about changes: with no event stream open nothing is kept, and an event about a container drops what is known of it.
 */
export class DetailsCache {
  #watching = 0;
  #changes = 0;
  readonly #details = new Map<string, ContainerDetails>();
  readonly #ooms = new Set<string>();

  /** An event stream is open. The returned function says that it has ended. */
  watch(): () => void {
    this.#watching++;
    this.#clear();
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      this.#watching--;
      this.#clear();
    };
  }

  invalidate(id: string): void {
    this.#changes++;
    this.#details.delete(id);
  }

  /** The event may come after the exit, and the engine does not correct its record then (seen on a busy machine). */
  sawOom(id: string): void {
    this.#ooms.add(id);
  }

  hadOom(id: string): boolean {
    return this.#ooms.has(id);
  }

  /** Taken before asking: an answer to a question that is older than the last change is not kept. */
  ticket(): number {
    return this.#changes;
  }

  put(ticket: number, id: string, details: ContainerDetails): void {
    const { State } = details.info;
    const settled = State.Running || State.Status === 'exited';
    if (this.#watching > 0 && ticket === this.#changes && settled) this.#details.set(id, details);
  }

  /** `status` is the state word of a newer list. */
  get(id: string, status: string): ContainerDetails | undefined {
    const known = this.#details.get(id);
    return known?.info.State.Status === status ? known : undefined;
  }

  keepOnly(ids: readonly string[]): void {
    const present = new Set(ids);
    for (const known of [this.#details, this.#ooms])
      for (const id of known.keys()) if (!present.has(id)) known.delete(id);
  }

  #clear(): void {
    this.#changes++;
    this.#details.clear();
  }
}
