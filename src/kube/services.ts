import type { Service } from '../model/pod.ts';
import type { ServiceSource } from '../pod/ports.ts';
import { clusterScoped } from './paths.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

/** Services with a cluster IP of all namespaces, for the variables of containers (reference 10.5). */
export class ServiceStore implements ServiceSource {
  readonly #reflector: Reflector<Service>;
  readonly #byNamespace = new Map<string, Map<string, Service>>();
  #listed = false;

  constructor(options: Pick<ReflectorOptions<Service>, 'client' | 'clock' | 'log' | 'random'>) {
    this.#reflector = new Reflector<Service>({
      ...options,
      name: 'services',
      path: clusterScoped('services'),
      fieldSelector: 'spec.clusterIP!=None',
      handler: ({ type, object }) => {
        const namespace = object.metadata.namespace ?? 'default';
        let services = this.#byNamespace.get(namespace);
        if (type === 'deleted') {
          services?.delete(object.metadata.uid);
          if (services?.size === 0) this.#byNamespace.delete(namespace);
          return;
        }
        if (services === undefined) {
          services = new Map();
          this.#byNamespace.set(namespace, services);
        }
        services.set(object.metadata.uid, object);
      },
    });
  }

  get synced(): Promise<void> {
    return this.#reflector.synced;
  }

  /** How fresh the Services are. */
  get watch() {
    const reflector = this.#reflector;
    return {
      resource: 'services',
      ageMs: () => reflector.lastByteAgeMs,
      restarts: () => reflector.restarts,
      relists: () => reflector.relists,
    };
  }

  forNamespace(namespace: string): readonly Service[] | undefined {
    return this.#listed ? [...(this.#byNamespace.get(namespace)?.values() ?? [])] : undefined;
  }

  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    // `synced` never rejects, and may stay pending when the run ends first.
    void this.#reflector.synced.then(() => {
      this.#listed = true;
    });
    await this.#reflector.run({ signal });
  }
}
