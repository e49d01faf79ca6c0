import { describe, expect, it } from 'vitest';
import { makeNodeMetrics, makeProcessMetrics, makeUsedNodeMetrics } from '../../testing/metrics-setup.ts';

const shared = makeProcessMetrics();

/** Name → type, as the page says. */
function types(page: string): Map<string, string> {
  return new Map([...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
}

/** Names and labels of reference 14.2, 14.3 and 11.14 that apply to a kubelet without devices, static pods and CSI. */
const KUBELET = `
  counter   kubelet_admission_rejections_total reason
  gauge     kubelet_active_pods static
  counter   kubelet_certificate_manager_client_expiration_renew_errors
  gauge     kubelet_certificate_manager_client_ttl_seconds
  histogram kubelet_certificate_manager_server_rotation_seconds
  gauge     kubelet_certificate_manager_server_ttl_seconds
  histogram kubelet_containers_per_pod_count
  gauge     kubelet_desired_pods static
  counter   kubelet_evictions eviction_signal
  gauge     kubelet_http_inflight_requests long_running method path server_type
  histogram kubelet_http_requests_duration_seconds long_running method path server_type
  counter   kubelet_http_requests_total long_running method path server_type
  counter   kubelet_image_garbage_collected_total reason
  counter   kubelet_image_manager_ensure_image_requests_total present_locally pull_policy pull_required
  histogram kubelet_image_pull_duration_seconds image_size_in_bytes
  gauge     kubelet_mirror_pods
  gauge     kubelet_node_name node
  counter   kubelet_orphaned_runtime_pods_total
  counter   kubelet_pleg_discard_events
  gauge     kubelet_pleg_last_seen_seconds
  histogram kubelet_pleg_pod_relist_duration_seconds
  histogram kubelet_pleg_relist_duration_seconds
  histogram kubelet_pleg_relist_interval_seconds
  histogram kubelet_pod_start_duration_seconds
  histogram kubelet_pod_start_sli_duration_seconds
  histogram kubelet_pod_start_total_duration_seconds
  histogram kubelet_pod_status_sync_duration_seconds
  histogram kubelet_pod_worker_duration_seconds operation_type
  histogram kubelet_pod_worker_start_duration_seconds
  counter   kubelet_preemptions preemption_signal
  counter   kubelet_restarted_pods_total static
  histogram kubelet_run_podsandbox_duration_seconds runtime_handler
  counter   kubelet_run_podsandbox_errors_total runtime_handler
  gauge     kubelet_running_containers container_state
  gauge     kubelet_running_pods
  histogram kubelet_runtime_operations_duration_seconds operation_type
  counter   kubelet_runtime_operations_errors_total operation_type
  counter   kubelet_runtime_operations_total operation_type
  counter   kubelet_server_expiration_renew_errors
  counter   kubelet_started_containers_errors_total code container_type
  counter   kubelet_started_containers_total container_type
  counter   kubelet_started_pods_errors_total
  counter   kubelet_started_pods_total
  counter   kubelet_terminated_containers_total container_type exit_code reason
  counter   kubelet_websocket_streaming_requests_total subresource
  gauge     kubelet_working_pods config lifecycle static
  gauge     kubernetes_build_info build_date compiler git_commit git_tree_state git_version go_version major minor platform
  histogram rest_client_request_duration_seconds host verb
  counter   rest_client_requests_total code host method
`;

/** What does not happen here (yet): there without a series. */
const NOTHING_YET = new Set([
  'kubelet_evictions',
  'kubelet_image_garbage_collected_total',
  'kubelet_preemptions',
  'kubelet_restarted_pods_total',
]);

function used(): Promise<string> {
  return makeUsedNodeMetrics(shared).main();
}

describe('the metrics of a node', () => {
  it('have the names, types and labels of the kubelet (reference 14)', async () => {
    const page = await used();
    const found = types(page);
    for (const line of KUBELET.trim().split('\n')) {
      const [type, name = '', ...labels] = line.trim().split(/\s+/);
      expect([name, found.get(name)]).toEqual([name, type]);
      expect([name, labelsOf(page, name)]).toEqual([name, NOTHING_YET.has(name) ? undefined : labels]);
    }
  });

  it('have a series of everything that happened', async () => {
    const page = await used();
    const lines = page.split('\n');
    expect(lines).toContain('kubelet_node_name{node="n1"} 1');
    expect(lines).toContain('kubelet_running_containers{container_state="running"} 4');
    expect(lines).toContain(
      'kubelet_terminated_containers_total{container_type="container",exit_code="137",reason="OOMKilled"} 1',
    );
    expect(lines).toContain('kubelet_image_pull_duration_seconds_count{image_size_in_bytes="0-10MB"} 1');
    expect(lines).toContain('kubelet_pod_start_sli_duration_seconds_sum 1.5');
    expect(lines).toContain('kubelet_pleg_last_seen_seconds 1.5');
    expect(lines).toContain('outrigger_provider_call_errors_total{method="ensureSandbox",code="Internal"} 1');
    expect(lines).toContain('outrigger_watch_age_seconds{resource="pods"} 1.5');
    expect(lines).toContain('outrigger_watch_restarts_total{resource="pods"} 2');
    expect(lines).toContain('outrigger_streams_open{subresource="exec"} 0');
    expect(lines).toContain('kubelet_certificate_manager_server_ttl_seconds 3600');
    expect(lines).toContain('kubelet_certificate_manager_client_ttl_seconds +Inf');
    expect(page).toContain(
      'kubelet_http_requests_total{method="GET",server_type="readwrite",path="metrics/cadvisor",long_running="false"} 1',
    );
  });

  it('are one page without a name that is told twice', async () => {
    const names = [...(await used()).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it('keep the series of a probe only while it lives (reference 4.10)', async () => {
    const metrics = makeNodeMetrics(shared);
    const labels = { probeType: 'Liveness', container: 'c', pod: 'p', namespace: 'ns', podUid: 'u' };
    metrics.probes.answered(labels, 'successful', 0.01);
    metrics.probes.answered(labels, 'failed', 0.01);
    const page = await metrics.probing();
    expect(page).toContain(
      'prober_probe_total{probe_type="Liveness",container="c",pod="p",namespace="ns",pod_uid="u",result="failed"} 1',
    );
    // Failures are not observed.
    expect(page).toContain(
      'prober_probe_duration_seconds_count{probe_type="Liveness",container="c",pod="p",namespace="ns"} 1',
    );
    expect(page).toMatch(/^process_start_time_seconds \d+/m);
    metrics.probes.ended(labels);
    expect(await metrics.probing()).not.toContain('container="c"');
  });

  it('tell how each health check is, and how often it was', async () => {
    const metrics = makeNodeMetrics(shared);
    await metrics.slis();
    const lines = (await metrics.slis()).split('\n');
    expect(lines).toContain('kubernetes_healthcheck{name="pleg",type="healthz"} 0');
    expect(lines).toContain('kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 2');
  });
});

/** Label names of the first series, sorted; undefined if there is no series. */
function labelsOf(page: string, name: string): string[] | undefined {
  const series = new RegExp(`^${name}(?:_sum)?(?:\\{(.*)\\})? \\S+$`, 'm').exec(page);
  if (series === null) return undefined;
  return [...(series[1] ?? '').matchAll(/(\w+)="/g)].map(([, label = '']) => label).sort();
}
