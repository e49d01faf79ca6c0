import type Docker from 'dockerode';
import { type CallOptions, type ContainerRef, type Labels, type PodUid, ProviderError } from '../contract/index.ts';
import { LABEL } from '../shared/unit-labels.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { statusBehind } from './errors.ts';

/** Finding what is ours on the engine: always by labels, always all owner labels. */

export async function listContainers(
  engine: Engine,
  wanted: Labels,
  { signal }: CallOptions,
): Promise<readonly Docker.ContainerInfo[]> {
  return engine.calls.call('list containers', { signal }, (abortSignal) =>
    engine.docker.listContainers({ all: true, filters: { label: labelFilter(engine, wanted) }, abortSignal }),
  );
}

export async function listVolumes(
  engine: Engine,
  wanted: Labels,
  { signal }: CallOptions,
): Promise<readonly Docker.VolumeInspectInfo[]> {
  const answer = await engine.calls.call('list volumes', { signal }, (abortSignal) =>
    engine.docker.listVolumes({ filters: { label: labelFilter(engine, wanted) }, abortSignal }),
  );
  // null when there is none, whatever the types say.
  return answer.Volumes ?? [];
}

export function labelFilter(engine: Engine, wanted: Labels): string[] {
  return Object.entries({ ...engine.context.ownerLabels, ...wanted }).map(([key, value]) => `${key}=${value}`);
}

export function ofPod(uid: PodUid): Labels {
  return { [LABEL.podUid]: uid };
}

export async function findContainer(
  engine: Engine,
  ref: ContainerRef,
  options: CallOptions,
): Promise<Docker.ContainerInfo | undefined> {
  const wanted = {
    ...ofPod(ref.podUid),
    [LABEL.kind]: 'container',
    [LABEL.containerName]: ref.container,
    [LABEL.attempt]: String(ref.attempt),
  };
  return (await listContainers(engine, wanted, options))[0];
}

export function noSuchContainer(ref: ContainerRef): ProviderError {
  return new ProviderError('NotFound', `no container ${ref.container}#${ref.attempt} of pod ${ref.podUid}`);
}

export async function findSandboxes(
  engine: Engine,
  uid: PodUid,
  options: CallOptions,
): Promise<readonly Docker.ContainerInfo[]> {
  return listContainers(engine, { ...ofPod(uid), [LABEL.kind]: 'sandbox' }, options);
}

/** undefined when there is no such container. */
export async function inspectContainer(
  engine: Engine,
  idOrName: string,
  { signal }: CallOptions,
): Promise<Docker.ContainerInspectInfo | undefined> {
  try {
    return await engine.calls.call('inspect a container', { signal }, (abortSignal) =>
      engine.docker.getContainer(idOrName).inspect({ abortSignal }),
    );
  } catch (error) {
    if (statusBehind(error) === 404) return undefined;
    throw error;
  }
}

/** Kills and removes; what was gone already is fine, and what is going is waited for. */
export async function removeByForce(engine: Engine, id: string, { signal }: CallOptions): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await engine.calls.call('remove a container', { signal, timeoutMs: SLOW_CALL_MS }, () =>
        engine.docker.getContainer(id).remove({ force: true, v: true }),
      );
      return;
    } catch (error) {
      const status = statusBehind(error);
      if (status === 404) return;
      // "removal of container … is already in progress": wait for the other one, unless it is one that never ends.
      if (status !== 409 || tries >= REMOVAL_TRIES) throw error;
      await engine.context.clock.sleep(REMOVAL_POLL_MS, { signal });
    }
  }
}

const REMOVAL_POLL_MS = 100;
const REMOVAL_TRIES = 300;
