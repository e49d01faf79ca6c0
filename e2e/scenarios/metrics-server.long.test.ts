import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parseQuantity } from '../../src/model/quantity.ts';
import { EngineUsage } from '../engine-usage.ts';
import { expectCleanNode, inNamespace, REAL } from '../matrix.ts';
import { aggregationFlags } from '../parts/aggregation.ts';
import { binaryPath, buildBinaries } from '../parts/build.ts';
import { type ControlPlane, startControlPlane } from '../parts/control-plane.ts';
import type { Kube } from '../parts/kube.ts';
import { MetricsServer } from '../parts/metrics-server.ts';
import type { Outrigger } from '../parts/outrigger.ts';
import { run } from '../parts/process.ts';
import { Progress } from '../parts/progress.ts';
import { TestBed } from '../parts/test-bed.ts';
import { eventually, type Scene, shell } from '../scene.ts';
import { podTemplate } from '../templates.ts';

const MI = 2 ** 20;
const BUSY = 'while :; do :; done';
/** The shell holds it as a string. */
const HOARD = `x=$(head -c ${64 * MI} /dev/zero | tr '\\0' x); echo full; trap 'exit 0' TERM; sleep 3600 & wait`;
/** metrics-server wants two measurements that differ. */
const MEASURED_MS = 120_000;

const ANSWER = /^(\S+)\s+(\d+)m\s+(?:\d+%\s+)?(\d+)Mi/;

interface Told {
  readonly milliCores: number;
  readonly mebibytes: number;
  /** Of which time that is. */
  readonly fromMs: number;
  readonly toMs: number;
}

/** metrics.k8s.io/v1beta1, what is read of it. */
interface Metrics {
  readonly timestamp: string;
  readonly window: string;
}

// metrics-server as everybody installs it: its own ServiceAccount with rights on nodes/metrics, kubelets' certificates checked.
describe('metrics-server', () => {
  let bed: TestBed;
  let plane: ControlPlane;
  let kube: Kube;
  let outrigger: Outrigger;
  let server: MetricsServer | undefined;

  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
    await buildBinaries(['metrics-server', 'kubectl'], new Progress());
    const dir = bed.folder('metrics-plane');
    plane = await startControlPlane({
      dir,
      flags: {
        apiserver: await aggregationFlags(dir),
        'controller-manager': [
          '--horizontal-pod-autoscaler-sync-period=2s',
          '--horizontal-pod-autoscaler-initial-readiness-delay=1s',
          '--horizontal-pod-autoscaler-cpu-initialization-period=1s',
        ],
      },
    });
    kube = await plane.kube();
    outrigger = await bed.startNode(bed.nodeName('measured'), { plane });
    server = await MetricsServer.start(plane, kube);
  }, 900_000);

  afterAll(async () => {
    await server?.stop();
    await bed.close();
    kube?.close();
    await plane?.stop();
  });

  /** What kubectl top says of one thing, and of which time. */
  async function top(kind: 'node' | 'pod', name: string, namespace?: string): Promise<Told | undefined> {
    const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
    const path = `/apis/metrics.k8s.io/v1beta1${scope}/${kind}s/${name}`;
    const metrics = async () => JSON.parse(await kube.http.text({ method: 'GET', path })) as Metrics; // as its kind says
    try {
      const { timestamp, window } = await metrics();
      const where = namespace === undefined ? [] : [`--namespace=${namespace}`];
      const args = ['--kubeconfig', plane.kubeconfig, ...where, 'top', kind, name, '--no-headers'];
      const [, told, cores, memory] = ANSWER.exec(await run(binaryPath('kubectl'), args)) ?? [];
      if (told !== name || (await metrics()).timestamp !== timestamp) return undefined;
      const toMs = Date.parse(timestamp);
      const fromMs = toMs - Number(/^([\d.]+)s$/.exec(window)?.[1]) * 1000;
      return { milliCores: Number(cores), mebibytes: Number(memory), fromMs, toMs };
    } catch {
      return undefined; // not measured yet
    }
  }

  async function inScene(body: (scene: Scene) => Promise<void>): Promise<void> {
    await inNamespace({ bed, outrigger, kube, backend: REAL }, body);
  }

  it('kubectl top says of nodes and pods what the engine says', async () => {
    await inScene(async (scene) => {
      const { namespace } = scene;
      const busy = await scene.create('busy', {
        ...shell(BUSY),
        resources: { requests: { cpu: '300m' }, limits: { cpu: '300m' } },
      });
      const hoard = await scene.create('hoard', shell(HOARD));
      await Promise.all(['busy', 'hoard'].map((name) => scene.ready(name)));
      await eventually('the memory to be filled', async () => (await scene.logs('hoard')) === 'full\n');
      const [busyId, hoardId] = [await engineId(scene, busy.metadata.uid), await engineId(scene, hoard.metadata.uid)];
      const engine = new EngineUsage(bed.docker);
      engine.follow([busyId, hoardId]);
      const startedMs = Date.now() + 2_000;
      /** Of a time in which the engine was followed too. */
      const told = (kind: 'node' | 'pod', name: string, where?: string) =>
        eventually(
          `${kind} ${name} to be measured`,
          async () => {
            const found = await top(kind, name, where);
            return found !== undefined && found.fromMs > startedMs ? found : undefined;
          },
          MEASURED_MS,
        );
      try {
        const [cpu, memory, node] = await Promise.all([
          told('pod', 'busy', namespace),
          told('pod', 'hoard', namespace),
          told('node', outrigger.nodeName),
        ]);
        const busyMilliCores = 1000 * engine.cores(busyId, cpu.fromMs, cpu.toMs);
        expectNear('CPU of the busy pod', cpu.milliCores, busyMilliCores);
        // The limit holds, whatever the load of the machine leaves of it.
        expect(cpu.milliCores).toBeLessThan(360);
        const workingSet = workingSetOf(await bed.docker.stats(hoardId)) / MI;
        expect(memory.mebibytes).toBeGreaterThanOrEqual(64);
        expectNear('memory of the hoard', memory.mebibytes, workingSet);
        expectNear('CPU of the node', node.milliCores, 1000 * engine.cores('machine', node.fromMs, node.toMs));
        const { status } = await kube.get('Node', outrigger.nodeName);
        const capacity = Number(parseQuantity(status?.capacity?.['memory'] ?? '0').nano / 1_000_000_000n) / MI;
        expect(node.mebibytes).toBeGreaterThan(workingSet);
        expect(node.mebibytes).toBeLessThan(capacity);
      } finally {
        await engine.stop();
      }
    });
  });

  it('an autoscaler on CPU scales a Deployment up', async () => {
    await inScene(async (scene) => {
      const { namespace } = scene;
      const { metadata, spec } = podTemplate(scene, 'busy', BUSY);
      const [container] = spec.containers;
      if (container === undefined) throw new Error('the template has no container');
      const resources = { requests: { cpu: '50m' }, limits: { cpu: '200m' } };
      const template = { metadata, spec: { ...spec, containers: [{ ...container, resources }] } };
      await kube.create({
        kind: 'Deployment',
        metadata: { name: 'busy', namespace },
        spec: { replicas: 1, selector: { matchLabels: metadata.labels }, template },
      });
      await kube.create({
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'busy', namespace },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'busy' },
          minReplicas: 1,
          maxReplicas: 3,
          metrics: [
            { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
          ],
        },
      });
      await kube.waitFor('Deployment', 'busy', 'scaled up', ({ status }) => (status?.readyReplicas ?? 0) > 1, {
        namespace,
        timeoutMs: 240_000,
      });
      const autoscaler = await kube.get('HorizontalPodAutoscaler', 'busy', namespace);
      expect(autoscaler.status?.conditions).toContainEqual(
        expect.objectContaining({ type: 'ScalingActive', status: 'True', reason: 'ValidMetricFound' }),
      );
      expect(autoscaler.status?.currentMetrics?.[0]?.resource?.current.averageUtilization).toBeGreaterThan(50);
    });
    await expectCleanNode(bed, outrigger, kube);
  });
});

async function engineId(scene: Scene, uid: string): Promise<string> {
  const all = await scene.containersOf(uid);
  const found = all.find(({ Labels }) => Labels['io.kubernetes.container.name'] === 'main');
  if (found === undefined) throw new Error(`the engine has no container main of ${uid}`);
  return found.Id;
}

/** As the kubelet counts it, with either version of the control groups. */
function workingSetOf({ memory_stats: { usage, stats } }: Awaited<ReturnType<TestBed['docker']['stats']>>): number {
  return usage - (stats['total_inactive_file'] ?? stats['inactive_file'] ?? 0);
}

function expectNear(what: string, told: number, measured: number): void {
  const deviation = Math.abs(told - measured) / measured;
  console.log(`${what}: told ${told}, measured ${measured.toFixed(1)}`);
  expect([what, told, measured, deviation < 0.2]).toEqual([what, told, measured, true]);
}
