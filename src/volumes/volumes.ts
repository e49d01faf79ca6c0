import type { PodUid, VolumeSpec } from '../../providers/contract/index.ts';
import { type ConfigMap, type Pod, podUid, type Secret } from '../model/pod.ts';
import { VolumeError, type VolumeSource } from '../pod/ports.ts';
import type { Allocatable } from '../spec/resource-field.ts';
import { isAbortError } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { ClaimError, type ClaimReader, claimedDirectory, claimName, type HostDirectory } from './claims.ts';
import { downwardPayload } from './downward.ts';
import { emptyDir } from './empty-dir.ts';
import { type Payload, revisionOf, toFiles } from './payload.ts';
import { configMapFiles, projectedPayload, type SourceInput, secretFiles, selection } from './projected.ts';
import { PodTokens, type RequestToken } from './token.ts';
import { type TrustBundles, trustAnchors } from './trust-bundle.ts';

interface CallOptions {
  readonly signal: AbortSignal;
}

export interface VolumesOptions {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: { warn(fields: object, message: string): void };
  readonly requestToken: RequestToken;
  /** Undefined when it does not exist. Keeps it watched for this pod until `releasePod`; one watch serves all pods. */
  configMap(podUid: PodUid, namespace: string, name: string, options: CallOptions): Promise<ConfigMap | undefined>;
  secret(podUid: PodUid, namespace: string, name: string, options: CallOptions): Promise<Secret | undefined>;
  releasePod(podUid: PodUid): void;
  trustBundles(options: CallOptions): TrustBundles;
  claims(options: CallOptions): ClaimReader;
  /** Undefined until the backend has described the node. */
  allocatable(): Allocatable | undefined;
  /** Clock milliseconds at which the pod was first seen. */
  seenMs(podUid: PodUid): number | undefined;
}

type Volume = NonNullable<Pod['spec']['volumes']>[number];

const DEFAULT_MODE = 0o644;
/** ClusterTrustBundles are not watched: they change a few times a year, and are asked for again this often. */
const TRUST_REFRESH_MS = 5 * 60_000;

/** Resolves what pods mount into plain files and directories, so that no backend needs to know Kubernetes objects. */
export class Volumes implements VolumeSource {
  readonly #options: VolumesOptions;
  readonly #tokens = new Map<PodUid, PodTokens>();
  readonly #trustReadMs = new Map<PodUid, number>();
  /** A bound claim stays bound to its volume, so each is asked for once in the life of a pod. */
  readonly #claims = new Map<PodUid, Map<string, HostDirectory>>();

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  async resolve(pod: Pod, { signal }: CallOptions): Promise<readonly VolumeSpec[]> {
    const results = await Promise.allSettled(
      mountedVolumes(pod).map((volume) => this.#resolveOne(pod, volume, signal)),
    );
    throwFirst(results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : [])));
    return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  }

  refreshAt(uid: PodUid): number | undefined {
    const trustMs = this.#trustReadMs.get(uid);
    const times = [this.#tokens.get(uid)?.renewAtMs, trustMs === undefined ? undefined : trustMs + TRUST_REFRESH_MS];
    const known = times.filter((time) => time !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  forget(uid: PodUid): void {
    this.#tokens.delete(uid);
    this.#trustReadMs.delete(uid);
    this.#claims.delete(uid);
    this.#options.releasePod(uid);
  }

  async #resolveOne(pod: Pod, volume: Volume, signal: AbortSignal): Promise<VolumeSpec> {
    try {
      return await this.#source(pod, volume, signal);
    } catch (error: unknown) {
      if (isAbortError(error, signal)) throw error;
      const message = errorMessage(error);
      const told = error instanceof ClaimError ? { told: unprocessed(volume.name, message) } : {};
      throw new VolumeError(volume.name, message, { cause: error, ...told });
    }
  }

  async #source(pod: Pod, volume: Volume, signal: AbortSignal): Promise<VolumeSpec> {
    const { name, hostPath } = volume;
    if (volume.emptyDir !== undefined)
      return emptyDir(name, volume.emptyDir, pod, this.#options.allocatable()?.memoryBytes);
    if (hostPath !== undefined) return { kind: 'hostPath', name, path: hostPath.path, type: hostPath.type ?? '' };
    const claim = claimName(pod, volume);
    if (claim !== undefined) return this.#claimed(pod, volume, claim, signal);
    const files = toFiles(await this.#payload(pod, volume, signal));
    const { fsGroup } = pod.spec.securityContext ?? {};
    return {
      kind: 'files',
      name,
      files,
      revision: revisionOf(files),
      // Everything but a ConfigMap may hold secrets; the kubelet draws the same line (reference 9.3).
      medium: volume.configMap === undefined ? 'memory' : 'disk',
      ...(fsGroup !== undefined && { ownerGid: fsGroup }),
    };
  }

  #payload(pod: Pod, volume: Volume, signal: AbortSignal): Promise<Payload> {
    const input = this.#input(pod, signal);
    const { configMap, secret, downwardAPI, projected } = volume;
    if (projected !== undefined)
      return projectedPayload(projected.sources ?? [], projected.defaultMode ?? DEFAULT_MODE, input, signal);
    if (configMap !== undefined) {
      const keys = selection(configMap, configMap.defaultMode ?? DEFAULT_MODE);
      return configMapFiles(configMap.name ?? '', keys, input);
    }
    if (secret !== undefined) {
      const keys = selection(secret, secret.defaultMode ?? DEFAULT_MODE);
      return secretFiles(secret.secretName ?? '', keys, input);
    }
    if (downwardAPI !== undefined) {
      const { items = [], defaultMode = DEFAULT_MODE } = downwardAPI;
      return Promise.resolve(downwardPayload(input, items, defaultMode));
    }
    // Admission refuses the other kinds (spec/unsupported.ts).
    const kinds = Object.keys(volume).filter((key) => key !== 'name');
    throw new Error(`volume is not supported yet: ${kinds.join(', ')}`);
  }

  #input(pod: Pod, signal: AbortSignal): SourceInput {
    const { configMap, secret, trustBundles, allocatable, seenMs, clock } = this.#options;
    const uid = podUid(pod);
    const { namespace } = pod.metadata;
    return {
      pod,
      allocatable: allocatable(),
      seenMs: seenMs(uid),
      configMap: (name) => configMap(uid, namespace, name, { signal }),
      secret: (name) => secret(uid, namespace, name, { signal }),
      token: (request) => this.#tokensOf(pod).get(request, { signal }),
      trustBundle: async (source) => {
        const anchors = await trustAnchors(source, trustBundles({ signal }));
        this.#trustReadMs.set(uid, clock.now());
        return anchors;
      },
    };
  }

  async #claimed(pod: Pod, volume: Volume, claim: string, signal: AbortSignal): Promise<VolumeSpec> {
    const uid = podUid(pod);
    const known = this.#claims.get(uid) ?? new Map<string, HostDirectory>();
    const directory =
      known.get(claim) ?? (await claimedDirectory(pod, volume, claim, this.#options.claims({ signal })));
    this.#claims.set(uid, known.set(claim, directory));
    const { path, type } = directory;
    if (directory.isLocal && pod.spec.securityContext?.fsGroup !== undefined) {
      throw new Error(`a local volume cannot be given to a group here: PersistentVolume ${directory.volume}`);
    }
    const readOnly = volume.persistentVolumeClaim?.readOnly === true;
    return { kind: 'hostPath', name: volume.name, path, type, ...(readOnly && { readOnly }) };
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

/** The first in the order of the spec, with the others beside it; what they fetched stays cached for the next try. */
function throwFirst(failures: readonly unknown[]): void {
  const other = failures.find((failure) => !(failure instanceof VolumeError));
  if (other !== undefined) throw other;
  const [first, ...others] = failures.filter((failure) => failure instanceof VolumeError);
  if (first === undefined) return;
  const { volume, message, cause, told } = first;
  throw new VolumeError(volume, message, { cause, others, told });
}

/** WaitForAttachAndMount: what the kubelet says of a volume that it could not even look up. */
function unprocessed(volume: string, why: string): string {
  return `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[], failed to process volumes=[${volume}]: ${why}`;
}

/** A volume that no container mounts is not set up (reference 9.1). */
function mountedVolumes({ spec }: Pod): readonly Volume[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])];
  const names = new Set(containers.flatMap(({ volumeMounts }) => volumeMounts ?? []).map(({ name }) => name));
  return (spec.volumes ?? []).filter(({ name }) => names.has(name));
}
