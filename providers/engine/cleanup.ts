import { type CallOptions, type Labels, ProviderError } from '../contract/index.ts';
import { mapLimit } from '../shared/map-limit.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { statusBehind } from './errors.ts';
import { HeldVolumes } from './held-volumes.ts';
import { labelFilter, listContainers, listVolumes, removeByForce } from './units.ts';
import { PodVolumes } from './volumes.ts';

const REMOVALS_AT_ONCE = 8;

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

async function removeNetwork(engine: Engine, id: string, { signal }: CallOptions): Promise<void> {
  try {
    await engine.calls.call('remove a network', { signal, timeoutMs: SLOW_CALL_MS }, () =>
      engine.docker.getNetwork(id).remove(),
    );
  } catch (error) {
    if (statusBehind(error) !== 404) throw error;
  }
}
