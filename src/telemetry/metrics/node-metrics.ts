import { Counter, Gauge, Registry } from 'prom-client';
import { ServingCertificateMetrics } from './certificate-metrics.ts';
import { HttpMetrics } from './http-metrics.ts';
import { ImageMetrics } from './image-metrics.ts';
import { PlegMetrics } from './pleg-metrics.ts';
import { type PodCounts, PodMetrics } from './pod-metrics.ts';
import { ProbeMetrics } from './probe-metrics.ts';
import type { ProcessMetrics } from './process-metrics.ts';
import { RuntimeMetrics } from './runtime-metrics.ts';
import { SliMetrics } from './sli-metrics.ts';
import { WatchMetrics } from './watch-metrics.ts';

export interface NodeMetricsOptions {
  readonly nodeName: string;
  readonly counts: PodCounts;
  readonly checks: ConstructorParameters<typeof SliMetrics>[0];
  /** What all nodes of the process show. */
  readonly shared: Pick<ProcessMetrics, 'main' | 'startTime' | 'watches'>;
}

/** Metrics of one node: what a Prometheus that scrapes its port gets, under the kubelet's names (reference 14). */
export class NodeMetrics {
  readonly pods: PodMetrics;
  readonly pleg: PlegMetrics;
  readonly runtime: RuntimeMetrics;
  readonly images: ImageMetrics;
  readonly http: HttpMetrics;
  readonly watches: WatchMetrics;
  readonly probes: ProbeMetrics;
  /** Parts that have metrics of their own add them here. */
  readonly registry = new Registry();
  readonly #probeRegistry = new Registry();
  readonly #slis: SliMetrics;
  readonly #shared: NodeMetricsOptions['shared'];

  constructor({ nodeName, counts, checks, shared }: NodeMetricsOptions) {
    const { registry } = this;
    this.#shared = shared;
    this.#slis = new SliMetrics(checks);
    this.pods = new PodMetrics(registry, counts);
    this.pleg = new PlegMetrics(registry);
    this.runtime = new RuntimeMetrics(registry);
    this.images = new ImageMetrics(registry);
    this.http = new HttpMetrics(registry);
    this.watches = new WatchMetrics(registry, shared.watches);
    this.probes = new ProbeMetrics(this.#probeRegistry);
    const registers = [registry];
    new Gauge({
      name: 'kubelet_node_name',
      help: 'The name of the node. The count is always 1.',
      labelNames: ['node'],
      registers,
    }).set({ node: nodeName }, 1);
    nothingYet(registers);
  }

  /** Only where the certificate of the kubelet API is asked for, as on the kubelet. */
  servingCertificate(ttlSeconds: () => number | undefined): ServingCertificateMetrics {
    return new ServingCertificateMetrics(this.registry, ttlSeconds);
  }

  /** `/metrics`. */
  async main(): Promise<string> {
    return `${await this.registry.metrics()}\n${await this.#shared.main()}`;
  }

  /** `/metrics/slis`. */
  slis(): Promise<string> {
    return this.#slis.text();
  }

  /** `/metrics/probes`. */
  async probing(): Promise<string> {
    return `${await this.#probeRegistry.metrics()}\n${await this.#shared.startTime()}\n`;
  }
}

/** Names that dashboards ask for, of what this kubelet does not do (yet): without a series, as on a kubelet where nothing happened. */
function nothingYet(registers: Registry[]): void {
  const counter = (name: string, help: string, labelNames: string[]): void => {
    new Counter({ name, help, labelNames, registers });
  };
  counter('kubelet_evictions', 'Cumulative number of pod evictions by eviction signal', ['eviction_signal']);
  counter('kubelet_preemptions', 'Cumulative number of pod preemptions by preemption resource', ['preemption_signal']);
  counter('kubelet_image_garbage_collected_total', 'Total number of images garbage collected by the kubelet', [
    'reason',
  ]);
}
