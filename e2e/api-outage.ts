import { expect } from 'vitest';
import { kubeletConfig } from './config.ts';
import type { ControlPlane } from './parts/control-plane.ts';
import { sleep } from './parts/wait.ts';
import { containerStatus, eventually, isReady, restarts, type Scene, shell, type StoredPod } from './scene.ts';

/** Crash loops go round every 2 s, so that a short outage sees several turns. */
export function quickCrashLoops(scene: Pick<Scene, 'bed'>, name: string): string {
  return `--config=${kubeletConfig(scene, name, { crashLoopBackOff: { maxContainerRestartPeriod: '2s' } })}`;
}

/** The API server goes away for a while: containers go on, crash loops go on, status catches up. */
export async function surviveOutage(scene: Scene, plane: ControlPlane, outageMs: number): Promise<void> {
  await scene.create('steady');
  await scene.create('killed');
  await scene.create('looping', shell('sleep 1; exit 1'));
  await scene.create('ending', shell(`sleep ${Math.ceil(outageMs / 2000)}; exit 6`), { restartPolicy: 'Never' });
  await scene.create('leaving', shell("trap '' TERM; sleep 3600"), { terminationGracePeriodSeconds: 6 });
  const steady = await scene.ready('steady');
  const killed = await scene.ready('killed');
  const leaving = await scene.ready('leaving');
  await scene.until('ending', 'running', ({ status }) => Boolean(status?.containerStatuses?.[0]?.state?.running));
  const looping = await scene.until('looping', 'restarted once', (pod) => restarts(pod) >= 1);
  await scene.delete('leaving');
  await scene.event('leaving', /^Normal Killing /);

  await plane.stopApiServer();
  const lastAttempt = await duringOutage(scene, { steady, killed, looping, leaving }, outageMs).finally(() =>
    plane.startApiServer(),
  );
  await scene.outrigger.waitReady(scene.kube, 120_000);
  await scene.gone('leaving');
  const told = await scene.until('killed', 'told', (pod) => restarts(pod) === 1 && isReady(pod));
  expect(containerStatus(told).lastState?.terminated?.exitCode).toBe(137);
  const ended = await scene.phase('ending', 'Failed');
  expect(containerStatus(ended).state?.terminated?.exitCode).toBe(6);
  await scene.until('looping', 'told', (pod) => restarts(pod) >= lastAttempt);
  const after = await scene.ready('steady');
  expect(containerStatus(after)).toEqual(containerStatus(steady));
  await scene.create('fresh');
  await scene.ready('fresh');
}

type Pods = Readonly<Record<'steady' | 'killed' | 'looping' | 'leaving', StoredPod>>;

/** Nobody can be told anything. Answers the crash loop's last incarnation. */
async function duringOutage(scene: Scene, pods: Pods, outageMs: number): Promise<number> {
  const end = performance.now() + outageMs;
  const victim = await running(scene, pods.killed);
  await scene.docker.killContainer(victim?.Id ?? '');
  await eventually('the killed container to run again', async () => {
    const now = await running(scene, pods.killed);
    return now !== undefined && now.Id !== victim?.Id;
  });
  const before = await attempt(scene, pods.looping);
  await eventually('the crash loop to go on', async () => (await attempt(scene, pods.looping)) > before);
  await eventually('the deleted pod to end', async () => (await running(scene, pods.leaving)) === undefined);
  expect(scene.outrigger.running).toBe(true);
  // The rest of the outage; how long it is, is the point.
  await sleep(Math.max(0, end - performance.now()));
  expect(`docker://${(await running(scene, pods.steady))?.Id}`).toBe(containerStatus(pods.steady).containerID);
  return await attempt(scene, pods.looping);
}

async function running(scene: Scene, { metadata }: StoredPod) {
  const containers = await scene.containersOf(metadata.uid);
  return containers.find(
    ({ Labels, State }) => State === 'running' && Labels['io.kubernetes.container.name'] === 'main',
  );
}

/** Number of the newest incarnation that the engine has. */
async function attempt(scene: Scene, { metadata }: StoredPod): Promise<number> {
  const names = (await scene.containersOf(metadata.uid)).flatMap(({ Names }) => Names);
  const attempts = names
    .filter((name) => name.startsWith('/outrigger_main_'))
    .map((name) => Number(name.split('_').at(-1)));
  return Math.max(-1, ...attempts);
}
