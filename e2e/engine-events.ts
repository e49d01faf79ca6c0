import type { ContainerEvent } from './parts/docker-http.ts';
import type { Scene, StoredPod } from './scene.ts';

const COUNTED = new Set(['create', 'start', 'die', 'kill', 'destroy']);

/** What the engine does with the containers of a node, from the recording's begin on. */
export class EngineEvents implements Disposable {
  readonly #abort = new AbortController();
  readonly #events: ContainerEvent[] = [];

  static async record({ docker, node }: Pick<Scene, 'docker' | 'node'>): Promise<EngineEvents> {
    const recording = new EngineEvents();
    const { signal } = recording.#abort;
    const events = await docker.containerEvents(`outrigger/node=${node}`, signal);
    void (async () => {
      for await (const event of events) recording.#events.push(event);
    })().catch((error: unknown) => {
      if (!signal.aborted) throw error; // ends the test run: a recording with a gap proves nothing
    });
    return recording;
  }

  /** Of all containers of the pod, its sandbox among them, or of one: sorted, since containers start side by side. */
  of({ metadata }: StoredPod, container?: string): string[] {
    return this.#events
      .filter(({ Actor }) => Actor.Attributes['io.kubernetes.pod.uid'] === metadata.uid)
      .filter(({ Actor }) => container === undefined || Actor.Attributes['io.kubernetes.container.name'] === container)
      .map(({ Action }) => Action)
      .filter((action) => COUNTED.has(action))
      .toSorted();
  }

  [Symbol.dispose](): void {
    this.#abort.abort();
  }
}
