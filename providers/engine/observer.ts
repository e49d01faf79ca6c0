import type Docker from 'dockerode';
import {
  type CallOptions,
  type Labels,
  type ObservedContainer,
  type ObservedPod,
  type PodIdentity,
  type PodUid,
  ProviderError,
} from '../contract/index.ts';
import { mapLimit } from '../shared/map-limit.ts';
import { decodeUnit, LABEL } from '../shared/unit-labels.ts';
import type { DetailsCache } from './details-cache.ts';
import type { Engine } from './engine.ts';
import { statusBehind } from './errors.ts';
import type { HeldVolumes } from './held-volumes.ts';
import { type ContainerDetails, imageIdOf, observedContainer, observedPod, type PodParts } from './observe.ts';
import { inspectContainer, listContainers, listVolumes, ofPod } from './units.ts';

const INSPECTS_AT_ONCE = 8;

interface OrphanRemover {
  /** Never rejects. */
  removeOrphans(present: readonly Docker.ContainerInfo[]): Promise<void>;
}

/** Asks the engine what there is of this node's pods. */
export class Observer {
  readonly #engine: Engine;
  readonly #cache: DetailsCache;
  readonly #held: HeldVolumes;
  readonly #relays: OrphanRemover;

  constructor(engine: Engine, cache: DetailsCache, held: HeldVolumes, relays: OrphanRemover) {
    this.#engine = engine;
    this.#cache = cache;
    this.#held = held;
    this.#relays = relays;
  }

  async list(options: CallOptions): Promise<readonly ObservedPod[]> {
    try {
      return await this.#observe({}, options);
    } catch (error) {
      // Whatever the engine stumbled over, the answer is incomplete, and an incomplete answer is none.
      if (!(error instanceof ProviderError) || error.code === 'Unavailable' || error.code === 'Unauthorized')
        throw error;
      throw new ProviderError('Unavailable', `the engine could not list containers: ${error.message}`, {
        cause: error,
      });
    }
  }

  async inspect(uid: PodUid, options: CallOptions): Promise<ObservedPod | undefined> {
    const [pod] = await this.#observe(ofPod(uid), options);
    return pod;
  }

  async #observe(wanted: Labels, options: CallOptions): Promise<readonly ObservedPod[]> {
    const { summaries, volumes } = await this.#look(wanted, options);
    if (Object.keys(wanted).length === 0) {
      this.#cache.keepOnly(summaries.map(({ Id }) => Id));
      void this.#relays.removeOrphans(summaries); // never rejects
    }
    const parts = new Map<PodUid, Mutable>();
    const partsOf = (pod: PodIdentity): Mutable => {
      const found = parts.get(pod.uid) ?? { pod, sandboxes: [], containers: [], volumes: [] };
      parts.set(pod.uid, found);
      return found;
    };
    const owned: Docker.ContainerInfo[] = [];
    for (const info of summaries) {
      const unit = decodeUnit(info.Labels);
      if (unit?.kind === 'sandbox') partsOf(unit.pod).sandboxes.push({ attempt: unit.attempt, info });
      if (unit?.kind === 'container') {
        const pod = partsOf(unit.pod);
        pod.sandboxAttempt = Math.max(pod.sandboxAttempt ?? 0, unit.sandboxAttempt);
        owned.push(info);
      }
    }
    for (const volume of volumes) {
      const unit = decodeUnit(volume.Labels ?? {});
      if (unit !== undefined) partsOf(unit.pod).volumes.push(volume);
    }
    await mapLimit(owned, INSPECTS_AT_ONCE, async (info) => {
      const details = await this.#details(info, options);
      const container = details && observedContainer(this.#cache.hadOom(info.Id) ? withOom(details) : details);
      const unit = decodeUnit(info.Labels);
      if (container !== undefined && unit !== undefined) partsOf(unit.pod).containers.push(container);
    });
    return [...parts.values()].map(observedPod);
  }

  /** Volumes after containers, so that a pod that is being removed is not missed in between. */
  async #look(wanted: Labels, options: CallOptions) {
    const summaries = await listContainers(this.#engine, wanted, options);
    const isOnePod = LABEL.podUid in wanted;
    const hasUnits = summaries.some(({ Labels }) => Labels[LABEL.kind] !== 'relay');
    const present = isOnePod && hasUnits ? [] : await listVolumes(this.#engine, wanted, options);
    const volumes = present.filter(({ Name }) => !this.#held.has(Name));
    const known = new Set(summaries.map(({ Labels }) => Labels[LABEL.podUid]));
    // Volumes without a container: a removal that was cut off, or a pod that has only just been made. Look once more.
    const isNew = volumes.some(({ Labels }) => !known.has(Labels[LABEL.podUid] ?? ''));
    return { summaries: isNew ? await listContainers(this.#engine, wanted, options) : summaries, volumes };
  }

  /** undefined when the container went away while we looked. */
  async #details(info: Docker.ContainerInfo, options: CallOptions): Promise<ContainerDetails | undefined> {
    const cached = this.#cache.get(info.Id, info.State);
    if (cached !== undefined) return cached;
    const ticket = this.#cache.ticket();
    const found = await inspectContainer(this.#engine, info.Id, options);
    if (found === undefined) return undefined;
    const details = { info: found, imageId: await this.#imageId(found, options) };
    this.#cache.put(ticket, info.Id, details);
    return details;
  }

  async #imageId(info: Docker.ContainerInspectInfo, { signal }: CallOptions): Promise<string> {
    try {
      const image = await this.#engine.calls.call('inspect an image', { signal }, () =>
        this.#engine.docker.getImage(info.Image).inspect(),
      );
      return imageIdOf(info.Config.Image, info.Image, image.RepoDigests ?? []);
    } catch (error) {
      // The image may have been removed under an exited container.
      if (statusBehind(error) === 404) return info.Image;
      throw error;
    }
  }
}

function withOom({ info, imageId }: ContainerDetails): ContainerDetails {
  return { info: { ...info, State: { ...info.State, OOMKilled: true } }, imageId };
}

type Mutable = {
  pod: PodIdentity;
  sandboxes: PodParts['sandboxes'][number][];
  containers: ObservedContainer[];
  sandboxAttempt?: number;
  volumes: Docker.VolumeInspectInfo[];
};
