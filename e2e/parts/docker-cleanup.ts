import type { DockerHttp } from './docker-http.ts';
import { waitFor } from './wait.ts';

/** What an engine holds for some nodes, as lines for people: empty means that nothing was left. */
export async function leftOnEngine(docker: DockerHttp, nodes: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    nodes.map(async (node) => {
      const label = `outrigger/node=${node}`;
      return [
        ...(await docker.containers(label)).map((container) => `container ${container.Names[0]} (${container.State})`),
        ...(await docker.networks(label)).map((network) => `network ${network.Name}`),
        ...(await docker.volumes(label)).map((volume) => `volume ${volume.Name}`),
      ];
    }),
  );
  return found.flat();
}

/** Removes by force everything that nodes of these names made; only for nodes whose program has ended. */
export async function cleanNodes(docker: DockerHttp, nodes: readonly string[]): Promise<void> {
  for (const node of nodes) {
    const label = `outrigger/node=${node}`;
    const containers = await docker.containers(label);
    await Promise.all(containers.map((container) => docker.removeContainer(container.Id)));
    const networks = await docker.networks(label);
    await Promise.all(networks.map((network) => removeNetwork(docker, network)));
    const volumes = await docker.volumes(label);
    await Promise.all(volumes.map((volume) => docker.removeVolume(volume.Name)));
  }
}

/** A busy engine holds the endpoints of containers that are gone for a moment longer, and refuses until then. */
async function removeNetwork(
  docker: DockerHttp,
  { Id, Name }: { readonly Id: string; readonly Name: string },
): Promise<void> {
  const removed = async (): Promise<boolean> => {
    await docker.removeNetwork(Id);
    return true;
  };
  await waitFor(removed, { what: `network ${Name} to be removed`, timeoutMs: 20_000, intervalMs: 200 });
}
