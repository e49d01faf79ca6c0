import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { ApiMetrics } from './api-metrics.ts';
import { ClientCertificateMetrics } from './certificate-metrics.ts';
import type { WatchView } from './watch-metrics.ts';

const START_TIME = 'process_start_time_seconds';

export interface BuildInfo {
  readonly version: string;
  /** Of Kubernetes, whose kubelet we are: `v1.36.3`. */
  readonly kubernetesVersion: string;
}

/** What all nodes of the process have in common: memory, event loop, requests to the API server. Every node shows it. */
export class ProcessMetrics {
  readonly api: ApiMetrics;
  /** Of the whole process; each node tells of them beside its own. */
  readonly watches: WatchView[] = [];
  readonly #registry = new Registry();

  constructor({ version, kubernetesVersion }: BuildInfo) {
    const registry = this.#registry;
    // Looks at the event loop in the background from here on; there is one such look per process.
    collectDefaultMetrics({ register: registry });
    // Sums of other series, under names that break the rules of naming.
    for (const kind of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
    // In the kubelet's words.
    registry.removeSingleMetric(START_TIME);
    new Gauge({
      name: START_TIME,
      help: '[ALPHA] Start time of the process since unix epoch in seconds.',
      registers: [registry],
    }).set(Math.round(performance.timeOrigin / 1000));
    this.api = new ApiMetrics(registry);
    const [major = '', minor = ''] = kubernetesVersion.replace(/^v/, '').split('.');
    new Gauge({
      name: 'kubernetes_build_info',
      help: 'A metric with a constant 1 value, labeled by the versions that this program was built from',
      labelNames: [
        'major',
        'minor',
        'git_version',
        'git_commit',
        'git_tree_state',
        'build_date',
        'go_version',
        'compiler',
        'platform',
      ],
      registers: [registry],
    }).set(
      {
        major,
        minor,
        git_version: `${kubernetesVersion}-outrigger-${version}`,
        git_commit: '',
        git_tree_state: '',
        build_date: '',
        go_version: '',
        compiler: `node-${process.version}`,
        platform: `${process.platform}/${process.arch}`,
      },
      1,
    );
  }

  /** Only where the process renews its own identity, as on the kubelet. */
  clientCertificate(ttlSeconds: () => number | undefined): ClientCertificateMetrics {
    return new ClientCertificateMetrics(this.#registry, ttlSeconds);
  }

  async main(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The kubelet shows it beside the probes. */
  async startTime(): Promise<string> {
    return this.#registry.getSingleMetricAsString(START_TIME);
  }
}
