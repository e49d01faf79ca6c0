import { expect } from 'vitest';
import type { Container } from '../src/model/pod.ts';
import { podsGone } from './matrix.ts';
import { scrape } from './parts/scrape.ts';
import { PodHistory } from './pod-history.ts';
import { containerStatus, eventually, isReady, type Scene, shell, type StoredPod, UNTIL_TOLD } from './scene.ts';

const OFTEN = { periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20 };
const page = { httpGet: { path: '/', port: 8080 }, ...OFTEN };
const port = { tcpSocket: { port: 8080 }, ...OFTEN };
const command = (...words: string[]) => ({ exec: { command: words }, ...OFTEN });

/** A failure of any probe would show at once. */
const WELL: readonly Partial<Container>[] = [
  { livenessProbe: port, readinessProbe: page },
  { startupProbe: page, livenessProbe: page, readinessProbe: port },
  { startupProbe: port, readinessProbe: page },
  { livenessProbe: page, readinessProbe: command('test', '-e', '/www/index.html') },
];
const SERVING = shell(`mkdir /www; echo well > /www/index.html; httpd -p 8080 -h /www; ${UNTIL_TOLD}`);

/**
 * kill -9, twice, with so many probed pods: nothing that is Ready stops being so, nothing restarts, and what is not Ready does not
 * become so. Then every probe is asked again.
 */
export async function probesSurvive(scene: Scene, count: number): Promise<void> {
  const { kube, namespace } = scene;
  const node = scene.on(await scene.startNode('survival'));
  const names = Array.from({ length: count - 1 }, (_none, index) => `well-${index}`);
  for (const [index, name] of names.entries()) {
    await node.create(name, { ...SERVING, ...WELL[index % WELL.length] });
  }
  await node.create('unready', { readinessProbe: command('false') });
  await Promise.all(names.map((name) => node.ready(name)));
  await node.event('unready', /^Warning Unhealthy Readiness probe failed/);

  await using history = new PodHistory(kube, namespace);
  await eventually('the history to begin', () => history.size >= count);
  const before = new Set(history.lines(summary));
  for (let kill = 0; kill < 2; kill++) {
    await node.outrigger.kill9();
    await node.outrigger.start();
    await eventually('every pod to be probed again', async () => (await probedPods(node)).size === count);
  }
  expect(new Set(history.lines(summary))).toEqual(before);
  await Promise.all([...names, 'unready'].map((name) => node.delete(name)));
  await podsGone(node.node, kube);
}

function summary(pod: StoredPod): string {
  const { name, containerID, ready, started, restartCount } = containerStatus(pod);
  return JSON.stringify([pod.metadata.name, name, containerID, { Ready: isReady(pod), ready, started, restartCount }]);
}

/** Pods with a probe that has been answered since the process began. */
async function probedPods(scene: Scene): Promise<ReadonlySet<string>> {
  const families = await scrape(scene, '/metrics/probes');
  const samples = families.find(({ name }) => name === 'prober_probe_total')?.samples ?? [];
  return new Set(samples.flatMap(({ labels }) => labels.get('pod') ?? []));
}
