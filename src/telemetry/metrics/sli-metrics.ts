import { Counter, Gauge, Registry } from 'prom-client';

/** `/metrics/slis`: each health check as it is at the scrape, and how often it was well so far. */
export class SliMetrics {
  readonly #registry = new Registry();
  readonly #state: Gauge<'name' | 'type'>;
  readonly #total: Counter<'name' | 'status' | 'type'>;
  readonly #checks: () => readonly { readonly name: string; check(): string | undefined }[];

  constructor(checks: () => readonly { readonly name: string; check(): string | undefined }[]) {
    const registers = [this.#registry];
    this.#checks = checks;
    this.#state = new Gauge({
      name: 'kubernetes_healthcheck',
      help: 'This metric records the result of a single healthcheck.',
      labelNames: ['name', 'type'],
      registers,
    });
    this.#total = new Counter({
      name: 'kubernetes_healthchecks_total',
      help: 'This metric records the results of all healthcheck.',
      labelNames: ['name', 'status', 'type'],
      registers,
    });
  }

  async text(): Promise<string> {
    for (const { name, check } of this.#checks()) {
      const well = check() === undefined;
      this.#state.set({ name, type: 'healthz' }, well ? 1 : 0);
      this.#total.inc({ name, status: well ? 'success' : 'error', type: 'healthz' });
    }
    return this.#registry.metrics();
  }
}
