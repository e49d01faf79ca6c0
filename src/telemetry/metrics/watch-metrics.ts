import { Counter, Gauge, type Registry } from 'prom-client';

/** One watch of the API server, as it is read at a scrape. */
export interface WatchView {
  readonly resource: string;
  /** Milliseconds since the server last sent anything; undefined before the first byte. */
  ageMs(): number | undefined;
  restarts(): number;
  relists(): number;
}

/** How fresh our view of the API server is. */
export class WatchMetrics {
  readonly #own: WatchView[] = [];

  /** `shared` are the watches that all nodes of the process have in common. */
  constructor(registry: Registry, shared: readonly WatchView[]) {
    const watches = (): readonly WatchView[] => [...this.#own, ...shared];
    const registers = [registry];
    const labelNames = ['resource'] as const;
    new Gauge({
      name: 'outrigger_watch_age_seconds',
      help: 'Seconds since the API server last sent anything on the watch of a resource; bookmarks come each minute',
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const { resource, ageMs } of watches()) {
          const age = ageMs();
          if (age !== undefined) this.set({ resource }, age / 1000);
        }
      },
    });
    const counted = (name: string, help: string, read: (watch: WatchView) => number): Counter<'resource'> =>
      new Counter({
        name,
        help,
        labelNames,
        registers,
        // The watch itself counts; what is read here never goes back.
        collect() {
          this.reset();
          for (const watch of watches()) this.inc({ resource: watch.resource }, read(watch));
        },
      });
    counted('outrigger_watch_restarts_total', 'Number of watches opened again after the first one', (watch) =>
      watch.restarts(),
    );
    counted('outrigger_watch_relists_total', 'Number of lists after the first one', (watch) => watch.relists());
  }

  add(watch: WatchView): void {
    this.#own.push(watch);
  }
}
