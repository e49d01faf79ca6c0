import type { PodUid, VolumeSpec } from '../../providers/contract/index.ts';
import { type ConfigMap, type Pod, podUid } from '../model/pod.ts';
import { VolumeError, type VolumeSource } from '../pod/ports.ts';
import { isAbortError } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { emptyDir } from './empty-dir.ts';
import { projectedVolume } from './projected.ts';
import { PodTokens, type RequestToken } from './token.ts';

export interface VolumesOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: { warn(fields: object, message: string): void };
  readonly requestToken: RequestToken;
  /** Undefined when it does not exist. Keeps it watched for this pod until `releasePod`; one watch serves all pods. */
  configMap(
    podUid: PodUid,
    namespace: string,
    name: string,
    options: { readonly signal: AbortSignal },
  ): Promise<ConfigMap | undefined>;
  releasePod(podUid: PodUid): void;
  /** Undefined until the backend has described the node. */
  allocatableMemoryBytes(): number | undefined;
}

type Volume = NonNullable<Pod['spec']['volumes']>[number];

/** Resolves what pods mount into plain files and directories, so that no backend needs to know Kubernetes objects. */
export class Volumes implements VolumeSource {
  readonly #options: VolumesOptions;
  readonly #tokens = new Map<PodUid, PodTokens>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  async resolve(pod: Pod, { signal }: { readonly signal: AbortSignal }): Promise<readonly VolumeSpec[]> {
    const results = await Promise.allSettled(
      mountedVolumes(pod).map((volume) => this.#resolveOne(pod, volume, signal)),
    );
    // The first in the order of the spec is the one that is told; what the others fetched stays cached for the next try.
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  refreshAt(uid: PodUid): number | undefined {
    return this.#tokens.get(uid)?.renewAtMs;
  }

  forget(uid: PodUid): void {
    this.#tokens.delete(uid);
    this.#options.releasePod(uid);
  }

  async #resolveOne(pod: Pod, volume: Volume, signal: AbortSignal): Promise<VolumeSpec> {
    try {
      return await this.#source(pod, volume, signal);
    } catch (error: unknown) {
      if (isAbortError(error, signal)) throw error;
      throw new VolumeError(volume.name, errorMessage(error), { cause: error });
    }
  }

  async #source(pod: Pod, volume: Volume, signal: AbortSignal): Promise<VolumeSpec> {
    const { configMap, allocatableMemoryBytes } = this.#options;
    const { name, projected } = volume;
    if (volume.emptyDir !== undefined) return emptyDir(name, volume.emptyDir, pod, allocatableMemoryBytes());
    if (projected !== undefined) {
      const sources = {
        pod,
        configMap: (object: string) => configMap(podUid(pod), pod.metadata.namespace, object, { signal }),
        token: (request: Parameters<PodTokens['get']>[0]) => this.#tokensOf(pod).get(request, { signal }),
      };
      return projectedVolume(name, projected, sources, signal);
    }
    // Admission refuses the other kinds (spec/unsupported.ts).
    const kinds = Object.keys(volume).filter((key) => key !== 'name');
    throw new Error(`volume is not supported yet: ${kinds.join(', ')}`);
  }

  #tokensOf(pod: Pod): PodTokens {
    const uid = podUid(pod);
    let tokens = this.#tokens.get(uid);
    if (tokens === undefined) {
      const { clock, random, requestToken, log } = this.#options;
      const onRenewalFailed = (of: Pod, error: unknown): void =>
        log.warn({ err: error, pod: of.metadata.name, uid }, 'service account token could not be renewed');
      tokens = new PodTokens({ clock, random, requestToken, onRenewalFailed });
      this.#tokens.set(uid, tokens);
    }
    return tokens;
  }
}

/** A volume that no container mounts is not set up (reference 9.1). */
function mountedVolumes({ spec }: Pod): readonly Volume[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const names = new Set(containers.flatMap(({ volumeMounts }) => volumeMounts ?? []).map(({ name }) => name));
  return (spec.volumes ?? []).filter(({ name }) => names.has(name));
}
