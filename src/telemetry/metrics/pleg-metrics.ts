import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { DEF_BUCKETS } from './buckets.ts';

/** Relists of the backend (reference 14.2). */
export class PlegMetrics {
  readonly #relists: Histogram;
  readonly #intervals: Histogram;
  readonly #pods: Histogram;
  readonly #seen: Gauge;
  readonly #failures: Counter;
  #lastRelistMs: number | undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    const histogram = (name: string, help: string): Histogram =>
      new Histogram({ name, help, buckets: DEF_BUCKETS, registers });
    this.#relists = histogram('kubelet_pleg_relist_duration_seconds', 'Duration in seconds of relisting pods in PLEG');
    this.#intervals = histogram('kubelet_pleg_relist_interval_seconds', 'Interval in seconds between relists in PLEG');
    this.#pods = histogram(
      'kubelet_pleg_pod_relist_duration_seconds',
      'Duration in seconds of asking for one pod in PLEG',
    );
    this.#seen = new Gauge({
      name: 'kubelet_pleg_last_seen_seconds',
      help: 'Unix time at which PLEG was last seen active',
      registers,
    });
    this.#failures = new Counter({
      name: 'outrigger_pleg_relist_failures_total',
      help: 'Number of relists that the backend did not answer',
      registers,
    });
    new Counter({
      name: 'kubelet_pleg_discard_events',
      help: 'Number of events that PLEG had to discard; hints carry no state here, so there are none',
      registers,
    });
  }

  relisted(startedMs: number, endedMs: number, ok: boolean): void {
    this.#relists.observe((endedMs - startedMs) / 1000);
    if (this.#lastRelistMs !== undefined) this.#intervals.observe(Math.max(0, startedMs - this.#lastRelistMs) / 1000);
    this.#lastRelistMs = startedMs;
    if (ok) this.#seen.set(endedMs / 1000);
    else this.#failures.inc();
  }

  podAsked(seconds: number): void {
    this.#pods.observe(seconds);
  }
}
