import { Counter, Histogram, type Registry } from 'prom-client';
import { DEF_BUCKETS } from './buckets.ts';

interface Labels {
  readonly probeType: string;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
  readonly podUid: string;
}

/** `/metrics/probes` (reference 4.10); series live as long as their probe. */
export class ProbeMetrics {
  readonly #total: Counter<'probe_type' | 'result' | 'container' | 'pod' | 'namespace' | 'pod_uid'>;
  readonly #durations: Histogram<'probe_type' | 'container' | 'pod' | 'namespace'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#total = new Counter({
      name: 'prober_probe_total',
      help: '[BETA] Cumulative number of a liveness, readiness or startup probe for a container by result.',
      labelNames: ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'prober_probe_duration_seconds',
      help: '[ALPHA] Duration in seconds for a probe response.',
      labelNames: ['probe_type', 'container', 'pod', 'namespace'],
      buckets: DEF_BUCKETS,
      registers,
    });
  }

  answered(labels: Labels, result: 'successful' | 'failed' | 'unknown', seconds: number): void {
    this.#total.inc({ ...shared(labels), pod_uid: labels.podUid, result });
    if (result === 'successful') this.#durations.observe(shared(labels), seconds);
  }

  ended(labels: Labels): void {
    for (const result of ['successful', 'failed', 'unknown'])
      this.#total.remove({ ...shared(labels), pod_uid: labels.podUid, result });
    this.#durations.remove(shared(labels));
  }
}

function shared({ probeType, container, pod, namespace }: Labels) {
  return { probe_type: probeType, container, pod, namespace };
}
