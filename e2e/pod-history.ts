import type { Kube } from './parts/kube.ts';
import type { StoredPod } from './scene.ts';

/** Every state of the pods of a namespace that the API server has shown since it was opened, through one watch. */
export class PodHistory {
  readonly #abort = new AbortController();
  readonly #seen: StoredPod[] = [];
  readonly #watching: Promise<void>;
  #failure: unknown;

  constructor(kube: Kube, namespace: string) {
    this.#watching = this.#follow(kube, namespace).catch((error: unknown) => {
      this.#failure = error;
    });
  }

  lines(describe: (pod: StoredPod) => string): string[] {
    return this.#seen.map(describe);
  }

  get size(): number {
    return this.#seen.length;
  }

  /** A history with a hole would prove nothing. */
  async [Symbol.asyncDispose](): Promise<void> {
    const broken = this.#failure;
    this.#abort.abort();
    await this.#watching;
    if (broken !== undefined) throw broken;
  }

  async #follow(kube: Kube, namespace: string): Promise<void> {
    const { signal } = this.#abort;
    for await (const { object } of kube.watch('Pod', namespace, { signal })) this.#seen.push(object);
    if (!signal.aborted) throw new Error('the watch of pods ended');
  }
}
