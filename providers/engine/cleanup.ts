import { type CallOptions, type Labels, ProviderError } from '../contract/index.ts';
import { mapLimit } from '../shared/map-limit.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { statusBehind } from './errors.ts';
import { HeldVolumes } from './held-volumes.ts';
import { labelFilter, listContainers, listVolumes, removeByForce } from './units.ts';
import { PodVolumes } from './volumes.ts';

const REMOVALS_AT_ONCE = 8;
/** What the engine answers about a network that still has endpoints. */
const IN_USE = 403;
const RELEASE_MS = 20_000;
const RELEASE_POLL_MS = 200;

export interface Cleaned {
  readonly containers: number;
  readonly volumes: number;
  readonly networks: number;
}

/**
 * Removes everything that carries the context's owner labels, running or not. Not part of running pods: it is for whoever
 * takes a node away for good (`npm stop`, a test).
 */
export async function cleanup(engine: Engine, options: CallOptions): Promise<Cleaned> {
  const owner: Labels = engine.context.ownerLabels;
  if (Object.keys(owner).length === 0) {
    throw new ProviderError('InvalidSpec', 'without owner labels everything on the engine would be removed');
  }
  const containers = await listContainers(engine, {}, options);
  await mapLimit(containers, REMOVALS_AT_ONCE, ({ Id }) => removeByForce(engine, Id, options));
  const volumes = await listVolumes(engine, {}, options);
  const remover = new PodVolumes(engine, new HeldVolumes(engine.context.clock));
  await mapLimit(volumes, REMOVALS_AT_ONCE, ({ Name }) => remover.remove(Name, options));
  const networks = await engine.calls.call('list networks', options, (abortSignal) =>
    engine.docker.listNetworks({ filters: { label: labelFilter(engine, {}) }, abortSignal }),
  );
  for (const { Id } of networks) await removeNetwork(engine, Id, options);
  return { containers: containers.length, volumes: volumes.length, networks: networks.length };
}

/**
 * A busy engine answers the removal of a container a moment before it lets go of its network: the removal waits for that, and
 * takes endpoints off that have no container any more.
 */
async function removeNetwork(engine: Engine, id: string, options: CallOptions): Promise<void> {
  const { clock } = engine.context;
  const deadlineMs = clock.now() + RELEASE_MS;
  for (;;) {
    try {
      await engine.calls.call('remove a network', { ...options, timeoutMs: SLOW_CALL_MS }, () =>
        engine.docker.getNetwork(id).remove(),
      );
      return;
    } catch (error) {
      if (statusBehind(error) === 404) return;
      if (statusBehind(error) !== IN_USE || clock.now() >= deadlineMs) throw error;
    }
    await clock.sleep(RELEASE_POLL_MS, options);
    await disconnectAll(engine, id, options);
  }
}

async function disconnectAll(engine: Engine, id: string, options: CallOptions): Promise<void> {
  const network = engine.docker.getNetwork(id);
  try {
    const { Containers = {} } = await engine.calls.call('inspect a network', options, () => network.inspect());
    for (const Container of Object.keys(Containers)) {
      await engine.calls.call('leave a network', options, () => network.disconnect({ Container, Force: true }));
    }
  } catch (error) {
    // Gone meanwhile, network or endpoint: which was wanted.
    if (statusBehind(error) !== 404) throw error;
  }
}
