import { eventually, type Scene, shell, UNTIL_TOLD } from '../scene.ts';

/** A pod whose script starts servers in the background; resolves when all ports are taken: kubectl ends at the first refusal. */
export async function createServers(
  scene: Scene,
  name: string,
  script: string,
  ports: readonly number[],
): Promise<void> {
  const wait = `for port in ${ports.join(' ')}; do until netstat -ltn | grep -q ":$port "; do sleep 0.1; done; done`;
  await scene.create(name, shell([script, wait, 'echo listening', UNTIL_TOLD].join('\n')));
  await scene.ready(name);
  await eventually('the servers', async () => (await scene.logs(name)).includes('listening'));
}
