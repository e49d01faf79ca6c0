import type { DesiredStore, ObservedStore } from '../model/stores.ts';
import { errorMessage } from '../util/errors.ts';
import { cadvisorMetrics } from './cadvisor-metrics.ts';
import { resourceMetrics } from './resource-metrics.ts';
import type { Latest } from './sampler.ts';
import { summary } from './summary.ts';
import { buildView, SELF_KEY, type SelfView, type StatsView } from './view.ts';

export interface NodeStatsOptions {
  readonly nodeName: string;
  readonly sampler: {
    latest(): Latest | undefined;
    readonly failure: unknown;
  };
  readonly observed: Pick<ObservedStore, 'get'>;
  readonly desired: Pick<DesiredStore, 'get'>;
}

/** What is known of the use of one node, in the three forms in which it is asked for. Nothing here waits. */
export class NodeStats {
  readonly #options: NodeStatsOptions;

  constructor(options: NodeStatsOptions) {
    this.#options = options;
  }

  /** undefined while the backend has not been measured, or not for a while. */
  view(): StatsView | undefined {
    const { nodeName, sampler, observed, desired } = this.#options;
    const latest = sampler.latest();
    if (latest === undefined) return undefined;
    const { self, ...rest } = latest;
    return buildView({
      nodeName,
      ...rest,
      ...(self === undefined ? {} : { self: selfView(self, latest.rate(SELF_KEY)) }),
      observed: (uid) => observed.get(uid)?.pod,
      desired: (uid) => desired.get(uid)?.pod,
    });
  }

  /** Throws when there is nothing that could be told. */
  summary(onlyCpuAndMemory: boolean): object {
    const view = this.view();
    if (view !== undefined) return summary(view, { onlyCpuAndMemory });
    const { failure } = this.#options.sampler;
    // The kubelet's words for the same: its runtime does not answer (summary.go).
    const why = failure === undefined ? 'the backend has not been measured yet' : errorMessage(failure);
    throw new Error(`failed to list pod stats: ${why}`, { cause: failure });
  }

  resource(): string {
    return resourceMetrics(this.view());
  }

  cadvisor(): string {
    return cadvisorMetrics(this.view());
  }
}

function selfView({ startedMs, timeMs, cpuNanos, rssBytes }: NonNullable<Latest['self']>, rate?: number): SelfView {
  return {
    startedMs,
    // A process does not see its own file pages: what is resident is what it works with.
    task: { timeMs, cpu: { usageNanos: cpuNanos }, memory: { workingSetBytes: rssBytes, rssBytes } },
    ...(rate === undefined ? {} : { nanoCores: rate }),
  };
}
