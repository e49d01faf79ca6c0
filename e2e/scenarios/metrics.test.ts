import { expect } from 'vitest';
import { type ExposedFamily, seriesValue } from '../../src/testing/exposition.ts';
import { lintExposition } from '../../src/testing/exposition-lint.ts';
import { KUBELET_LINT } from '../../src/testing/kubelet-lint.ts';
import { matrix } from '../matrix.ts';
import { proxied, scrape } from '../parts/scrape.ts';
import { eventually, type Scene, shell } from '../scene.ts';

const PAGES = ['/metrics', '/metrics/probes', '/metrics/resource', '/metrics/cadvisor', '/metrics/slis'];

matrix(
  'metrics',
  ({ test }) => {
    test('every page answers through the API server with what Prometheus reads', async (scene) => {
      for (const path of PAGES) {
        const page = await scrape(scene, path);
        const unexpected = lintExposition(page).filter((line) => !KUBELET_LINT.includes(line));
        expect([path, unexpected]).toEqual([path, []]);
        expect(page.length).toBeGreaterThan(0);
      }
      const main = await scrape(scene, '/metrics');
      expect(seriesValue(main, 'kubelet_node_name', { node: scene.node })).toBe(1);
      expect(seriesValue(main, 'rest_client_requests_total', { method: 'POST', code: '201' })).toBeGreaterThan(0);
      expect(seriesValue(main, 'kubelet_http_requests_total', { path: 'metrics/slis' })).toBe(1);
      const slis = await scrape(scene, '/metrics/slis');
      expect(seriesValue(slis, 'kubernetes_healthcheck', { name: `pleg-${scene.node}` })).toBe(1);
    });

    test('a running pod is measured, on every page alike', async (scene) => {
      const { pod, namespace } = { pod: 'measured', namespace: scene.namespace };
      const { metadata } = await scene.create(pod, { ...shell('while :; do sleep 0.2; done'), name: 'main' });
      await scene.ready(pod);
      const labels = { pod, namespace, container: 'main' };
      const resource = await eventually('the pod to be measured', async () => {
        const page = await scrape(scene, '/metrics/resource');
        return seriesValue(page, 'container_cpu_usage_seconds_total', labels) === undefined ? undefined : page;
      });
      expect(seriesValue(resource, 'resource_scrape_error')).toBe(0);
      const cadvisor = await scrape(scene, '/metrics/cadvisor');
      for (const page of [resource, cadvisor]) {
        const started = seriesValue(page, 'container_start_time_seconds', labels) ?? 0;
        expect(Math.abs(started - Date.now() / 1000)).toBeLessThan(300);
        expect(seriesValue(page, 'container_memory_working_set_bytes', labels)).toBeGreaterThanOrEqual(0);
        expect(seriesValue(page, 'container_cpu_usage_seconds_total', labels)).toBeGreaterThanOrEqual(0);
      }
      const sum = (name: string) => seriesValue(resource, name, { pod, namespace }) ?? -1;
      expect(sum('pod_memory_working_set_bytes')).toBeGreaterThanOrEqual(
        seriesValue(resource, 'container_memory_working_set_bytes', labels) ?? 0,
      );
      const sandbox = { pod, namespace, container: '', interface: 'eth0' };
      expect(seriesValue(cadvisor, 'container_network_receive_bytes_total', sandbox)).toBeGreaterThanOrEqual(0);
      expect(imagesOf(cadvisor, pod)).not.toContain('');

      const summary = await summaryOf(scene);
      expect(summary.node).toMatchObject({ nodeName: scene.node, cpu: { usageCoreNanoSeconds: expect.any(Number) } });
      expect(summary.pods.find(({ podRef }) => podRef.uid === metadata.uid)).toMatchObject({
        podRef: { name: pod, namespace },
        containers: [{ name: 'main', memory: { workingSetBytes: expect.any(Number) } }],
      });
      if (scene.offers('realContainers'))
        expect(seriesValue(resource, 'container_memory_working_set_bytes', labels)).toBeGreaterThan(50_000);
    });

    test('pods, containers, ends, rejections and probes are counted', async (shared) => {
      // Where nobody else is counted.
      const scene = shared.on(await shared.startNode('counted'));
      const probe = { exec: { command: ['true'] }, periodSeconds: 1 };
      await scene.create('steady', { livenessProbe: probe, readinessProbe: probe });
      await scene.create('ended', shell('exit 3'), { restartPolicy: 'Never' });
      await scene.create('refused', { resources: { requests: { cpu: '5k' } } });
      await scene.ready('steady');
      await scene.phase('ended', 'Failed');
      await scene.phase('refused', 'Failed');

      const expected: readonly (readonly [name: string, labels: Readonly<Record<string, string>>, value: number])[] = [
        ['kubelet_desired_pods', { static: '' }, 3],
        ['kubelet_active_pods', { static: '' }, 1],
        ['kubelet_running_pods', {}, 1],
        ['kubelet_running_containers', { container_state: 'running' }, 1],
        ['kubelet_running_containers', { container_state: 'exited' }, 1],
        ['kubelet_started_pods_total', {}, 2],
        ['kubelet_started_containers_total', { container_type: 'container' }, 2],
        ['kubelet_terminated_containers_total', { container_type: 'container', exit_code: '3', reason: 'Error' }, 1],
        ['kubelet_admission_rejections_total', { reason: 'OutOfcpu' }, 1],
        ['outrigger_pod_turns_running', {}, 0],
        ['outrigger_pod_statuses_unwritten', {}, 0],
      ];
      let page: readonly ExposedFamily[] = [];
      const found = () => expected.map(([name, labels]) => [name, labels, seriesValue(page, name, labels)]);
      await eventually(
        'the counts to settle',
        async () => {
          page = await scrape(scene, '/metrics');
          return JSON.stringify(found()) === JSON.stringify(expected);
        },
        10_000,
      ).catch(() => expect(found()).toEqual(expected));

      // The one that ended may have been seen running, or not.
      const started = seriesValue(page, 'kubelet_pod_start_sli_duration_seconds_count');
      expect([1, 2]).toContain(started);

      const { uid } = (await scene.get('steady')).metadata;
      const steady = { container: 'main', pod: 'steady', namespace: scene.namespace };
      const answers = (type: string) => ({ probe_type: type, result: 'successful', pod_uid: uid, ...steady });
      const probes = await eventually('probes to be counted', async () => {
        const scraped = await scrape(scene, '/metrics/probes');
        const counts = ['Liveness', 'Readiness'].map((type) =>
          seriesValue(scraped, 'prober_probe_total', answers(type)),
        );
        return counts.every((count = 0) => count > 0) ? scraped : undefined;
      });
      const durations = 'prober_probe_duration_seconds_count';
      expect(seriesValue(probes, durations, { probe_type: 'Liveness', ...steady })).toBeGreaterThan(0);
      const ran = await scrape(scene, '/metrics');
      expect(seriesValue(ran, 'kubelet_runtime_operations_total', { operation_type: 'exec' })).toBeGreaterThan(1);

      for (const name of ['steady', 'ended', 'refused']) await scene.delete(name);
      for (const name of ['steady', 'ended', 'refused']) await scene.gone(name);
    });
  },
  // How a backend is driven does not matter to who measures it.
  { needs: ['containerRestarts'] },
);

function imagesOf(page: readonly ExposedFamily[], pod: string): readonly (string | undefined)[] {
  return page
    .flatMap(({ samples }) => samples)
    .filter(({ labels }) => labels.get('pod') === pod && labels.get('container') !== '')
    .map(({ labels }) => labels.get('image'));
}

async function summaryOf(scene: Scene): Promise<{
  readonly node: object;
  readonly pods: readonly { readonly podRef: { readonly uid: string } }[];
}> {
  return JSON.parse(await proxied(scene, '/stats/summary')); // the kubelet's stats/v1alpha1, checked by what is expected of it
}
