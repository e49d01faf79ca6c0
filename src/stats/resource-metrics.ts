import type { MemoryUsage } from '../../providers/contract/index.ts';
import { expose, type Family, type Labels, type Sample } from './exposition.ts';
import type { Measured } from './totals.ts';
import type { PodView, StatsView } from './view.ts';

const NANOS = 1e9;

interface Row {
  readonly labels: Labels;
  readonly measured: Measured;
}

/** `/metrics/resource` (reference 14.4; collectors/resource_metrics.go). undefined: there is nothing that could be told. Pure. */
export function resourceMetrics(view: StatsView | undefined): string {
  const error: Family = {
    name: 'resource_scrape_error',
    help: '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise',
    type: 'gauge',
    samples: [{ labels: {}, value: view === undefined ? 1 : 0 }],
  };
  return expose(view === undefined ? [error] : [...families(view), error]);
}

function families(view: StatsView): readonly Family[] {
  const { host } = view;
  const node: Row[] = host === undefined ? [] : [{ labels: {}, measured: { task: host } }];
  const pods = newestOfEachName(view.pods);
  const podRows = pods.flatMap(({ pod, total }) => (total === undefined ? [] : [{ labels: of(pod), measured: total }]));
  const containers = pods.flatMap(({ pod, containers: all }) =>
    all
      // A consumer takes half of a container for a broken pod: both or nothing.
      .filter(({ task }) => task.cpu !== undefined && task.memory?.workingSetBytes !== undefined)
      .map((container) => ({ labels: { ...of(pod), container: container.name }, measured: container })),
  );
  const starts = containers.map(({ labels, measured: { startedMs } }) => ({ labels, value: startedMs / 1000 }));
  return [
    cpuFamily('node_cpu_usage_seconds_total', 'node', node),
    workingSetFamily('node_memory_working_set_bytes', 'node', node),
    swapFamily('node_swap_usage_bytes', 'the node', node),
    {
      name: 'container_start_time_seconds',
      help: '[STABLE] Start time of the container since unix epoch in seconds',
      type: 'gauge',
      samples: starts,
    },
    cpuFamily('container_cpu_usage_seconds_total', 'container', containers),
    workingSetFamily('container_memory_working_set_bytes', 'container', containers),
    swapFamily('container_swap_usage_bytes', 'the container', containers),
    {
      name: 'container_swap_limit_bytes',
      help: '[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems',
      type: 'gauge',
      samples: timed(containers, ({ swapLimitBytes }) => swapLimitBytes),
    },
    cpuFamily('pod_cpu_usage_seconds_total', 'pod', podRows),
    workingSetFamily('pod_memory_working_set_bytes', 'pod', podRows),
    swapFamily('pod_swap_usage_bytes', 'the pod', podRows),
  ];
}

/** The UID is no label here: a pod that is going and the one that follows it under its name would be the same series. */
function newestOfEachName(pods: readonly PodView[]): readonly PodView[] {
  const newest = new Map<string, PodView>();
  for (const view of pods) {
    const key = `${view.pod.namespace}/${view.pod.name}`;
    const other = newest.get(key);
    if (other === undefined || other.createdMs < view.createdMs) newest.set(key, view);
  }
  return [...newest.values()];
}

function of({ name, namespace }: PodView['pod']): Labels {
  return { pod: name, namespace };
}

function cpuFamily(name: string, what: string, rows: readonly Row[]): Family {
  const samples = rows.flatMap(({ labels, measured: { task } }): Sample[] =>
    task.cpu === undefined ? [] : [{ labels, value: task.cpu.usageNanos / NANOS, timeMs: task.timeMs }],
  );
  const help = `[STABLE] Cumulative cpu time consumed by the ${what} in core-seconds`;
  return { name, help, type: 'counter', samples };
}

function workingSetFamily(name: string, what: string, rows: readonly Row[]): Family {
  const help = `[STABLE] Current working set of the ${what} in bytes`;
  return { name, help, type: 'gauge', samples: timed(rows, ({ workingSetBytes }) => workingSetBytes) };
}

function swapFamily(name: string, what: string, rows: readonly Row[]): Family {
  // The kubelet's own words differ between the three.
  const subject = what === 'the node' ? 'Current swap usage of the node' : `Current amount of ${what} swap usage`;
  const help = `[ALPHA] ${subject} in bytes. Reported only on non-windows systems`;
  return { name, help, type: 'gauge', samples: timed(rows, ({ swapBytes }) => swapBytes) };
}

function timed(rows: readonly Row[], pick: (memory: MemoryUsage) => number | undefined): Sample[] {
  return rows.flatMap(({ labels, measured: { task } }): Sample[] => {
    const value = task.memory === undefined ? undefined : pick(task.memory);
    return value === undefined ? [] : [{ labels, value, timeMs: task.timeMs }];
  });
}
