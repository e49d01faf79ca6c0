import { beforeAll, describe, expect, it } from 'vitest';
import { type ExposedFamily, parseExposition } from './exposition.ts';
import { lintExposition } from './exposition-lint.ts';
import { KUBELET_LINT } from './kubelet-lint.ts';
import { metricPages } from './metrics-setup.ts';

/** Reference 14.4. */
const RESOURCE = `
  node_cpu_usage_seconds_total
  node_memory_working_set_bytes
  node_swap_usage_bytes
  container_cpu_usage_seconds_total container namespace pod
  container_memory_working_set_bytes container namespace pod
  container_swap_usage_bytes container namespace pod
  container_swap_limit_bytes container namespace pod
  container_start_time_seconds container namespace pod
  pod_cpu_usage_seconds_total namespace pod
  pod_memory_working_set_bytes namespace pod
  pod_swap_usage_bytes namespace pod
  resource_scrape_error
`;

describe('every page of metrics', () => {
  let pages: ReadonlyMap<string, readonly ExposedFamily[]>;
  beforeAll(async () => {
    pages = new Map([...(await metricPages())].map(([path, page]) => [path, parseExposition(page)]));
  });

  it('is what promtool would pass, but for names that the kubelet has', () => {
    const found = [...pages.values()].flatMap(lintExposition);
    expect(found.toSorted()).toEqual(KUBELET_LINT);
  });

  it('has a type for each name, and each name on one page only', () => {
    const families = [...pages.values()].flat();
    expect(families.filter(({ type }) => type === 'untyped').map(({ name }) => name)).toEqual([]);
    const names = families.map(({ name }) => name);
    // Container CPU and memory are on the pages of both consumers, as on the kubelet; the start of the process beside the probes.
    const twice = names.filter((name, index) => names.indexOf(name) !== index).toSorted();
    expect(twice).toEqual([
      'container_cpu_usage_seconds_total',
      'container_memory_working_set_bytes',
      'container_start_time_seconds',
      'process_start_time_seconds',
    ]);
  });

  it('/metrics/resource has the names and labels that its consumers know (reference 14.4)', () => {
    const page = pages.get('/metrics/resource') ?? [];
    for (const line of RESOURCE.trim().split('\n')) {
      const [name, ...labels] = line.trim().split(' ');
      const family = page.find((other) => other.name === name);
      expect([name, [...(family?.samples[0]?.labels.keys() ?? ['no series'])].toSorted()]).toEqual([name, labels]);
    }
    expect(page).toHaveLength(RESOURCE.trim().split('\n').length);
  });
});
