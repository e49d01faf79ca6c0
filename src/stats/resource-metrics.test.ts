import { describe, expect, it } from 'vitest';
import type { PodUid } from '../../providers/contract/index.ts';
import { makeObservedContainer, running, START_MS } from '../testing/builders.ts';
import { MEASURED_MS, makeObserved, makePodUsage, makeView } from '../testing/stats-setup.ts';
import { resourceMetrics } from './resource-metrics.ts';

/** The sample lines of a text, by the name of their metric. */
function samples(text: string, name: string): readonly string[] {
  return text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

describe('resource metrics', () => {
  it('tell machine, pods and containers with the time of their measurement, as the kubelet does', () => {
    expect(resourceMetrics(makeView())).toBe(`\
# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="c",namespace="ns",pod="p"} 2.5 ${MEASURED_MS}
# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes
# TYPE container_memory_working_set_bytes gauge
container_memory_working_set_bytes{container="c",namespace="ns",pod="p"} 2000 ${MEASURED_MS}
# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="c",namespace="ns",pod="p"} ${START_MS / 1000 + 1.5}
# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 100 ${MEASURED_MS}
# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes
# TYPE node_memory_working_set_bytes gauge
node_memory_working_set_bytes 4000 ${MEASURED_MS}
# HELP node_swap_usage_bytes [ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems
# TYPE node_swap_usage_bytes gauge
node_swap_usage_bytes 0 ${MEASURED_MS}
# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds
# TYPE pod_cpu_usage_seconds_total counter
pod_cpu_usage_seconds_total{namespace="ns",pod="p"} 3 ${MEASURED_MS}
# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes
# TYPE pod_memory_working_set_bytes gauge
pod_memory_working_set_bytes{namespace="ns",pod="p"} 2200 ${MEASURED_MS}
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`);
  });

  it('tell of nothing but the error when nothing is known', () => {
    expect(resourceMetrics(undefined)).toBe(
      '# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise\n' +
        '# TYPE resource_scrape_error gauge\nresource_scrape_error 1\n',
    );
  });

  it.each(['cpu', 'memory'] as const)('leave a container out of which %s is not known', (missing) => {
    const [container] = makePodUsage().containers;
    if (container === undefined) throw new Error('no container');
    const { [missing]: _, ...rest } = container;
    const text = resourceMetrics(makeView({ usage: [makePodUsage({ containers: [rest] })] }));
    expect(text).not.toContain('container_');
    expect(text).toContain('node_cpu_usage_seconds_total');
  });

  it('tell swap where it is known, with its limit', () => {
    const [container] = makePodUsage().containers;
    if (container === undefined) throw new Error('no container');
    const memory = { workingSetBytes: 1, swapBytes: 10, swapLimitBytes: 40 };
    const text = resourceMetrics(makeView({ usage: [makePodUsage({ containers: [{ ...container, memory }] })] }));
    expect(samples(text, 'container_swap_usage_bytes')).toEqual([
      `container_swap_usage_bytes{container="c",namespace="ns",pod="p"} 10 ${MEASURED_MS}`,
    ]);
    expect(samples(text, 'container_swap_limit_bytes')).toEqual([
      `container_swap_limit_bytes{container="c",namespace="ns",pod="p"} 40 ${MEASURED_MS}`,
    ]);
    // The sandbox does not say, so the pod cannot.
    expect(text).not.toContain('pod_swap_usage_bytes');
  });

  it('tell of the younger of two pods with one name', () => {
    const old = makePodUsage();
    const { sandbox: _, ...young } = makePodUsage({
      pod: { uid: 'young' as PodUid, namespace: 'ns', name: 'p' },
      containers: [{ name: 'c', attempt: 0, timeMs: 1, cpu: { usageNanos: 7e9 }, memory: { workingSetBytes: 7 } }],
    });
    const view = makeView({
      usage: [old, young],
      observed: (uid) => makeObserved(uid === young.pod.uid ? { createdAt: new Date(START_MS + 1) } : {}),
    });
    expect(samples(resourceMetrics(view), 'pod_cpu_usage_seconds_total')).toEqual([
      'pod_cpu_usage_seconds_total{namespace="ns",pod="p"} 7 1',
    ]);
  });

  it('tell of no container that has ended or was replaced since it was measured', () => {
    const observed = makeObserved({ containers: [makeObservedContainer('c', running(), { attempt: 1 })] });
    expect(resourceMetrics(makeView({ observed: () => observed }))).not.toContain('container_cpu');
    expect(resourceMetrics(makeView({ observed: () => undefined }))).not.toContain('pod_');
  });
});
