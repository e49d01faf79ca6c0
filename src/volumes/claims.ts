import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../model/pod.ts';
import { errorMessage } from '../util/errors.ts';

/** GETs of the API server; each rejects when there is no such object. */
export interface ClaimReader {
  claim(namespace: string, name: string): Promise<PersistentVolumeClaim>;
  volume(name: string): Promise<PersistentVolume>;
}

/** A claim of the pod cannot be had yet, in the kubelet's words. */
export class ClaimError extends Error {
  override readonly name = 'ClaimError';
}

/** The kubelet's finalizer that keeps a claim while pods use it. */
const PVC_PROTECTION = 'kubernetes.io/pvc-protection';

export interface HostDirectory {
  readonly path: string;
  readonly type: string;
  /** Name of the PersistentVolume: events name that, not the pod's own name for it. */
  readonly volume: string;
  /** A kubelet gives these, and not paths of the host, to the pod's group for volumes. */
  readonly isLocal: boolean;
}

type Volume = NonNullable<Pod['spec']['volumes']>[number];

/** Name of the claim that a volume stands for; that of a generic ephemeral one is made of pod and volume (reference 9.7). */
export function claimName(pod: Pod, { name, persistentVolumeClaim, ephemeral }: Volume): string | undefined {
  if (persistentVolumeClaim !== undefined) return persistentVolumeClaim.claimName;
  return ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`;
}

/** Where a claim lies on the host: its PersistentVolume is `local` or `hostPath` (desired_state_of_world_populator.go). */
export async function claimedDirectory(
  pod: Pod,
  volume: Volume,
  name: string,
  reader: ClaimReader,
): Promise<HostDirectory> {
  const { namespace } = pod.metadata;
  try {
    const claim = await boundClaim(namespace, name, reader);
    if (volume.ephemeral !== undefined) mustBelongTo(pod, claim);
    return directoryOf(volume.name, await boundVolume(claim, reader));
  } catch (error: unknown) {
    if (!(error instanceof ClaimError)) throw error;
    throw new ClaimError(`error processing PVC ${namespace}/${name}: ${error.message}`, { cause: error });
  }
}

async function boundClaim(namespace: string, name: string, reader: ClaimReader): Promise<PersistentVolumeClaim> {
  const claim = await fetched('failed to fetch PVC from API server', () => reader.claim(namespace, name));
  const { deletionTimestamp, finalizers = [] } = claim.metadata;
  if (deletionTimestamp !== undefined && !finalizers.includes(PVC_PROTECTION))
    throw new ClaimError('PVC is being deleted');
  if (claim.status?.phase !== 'Bound') throw new ClaimError('PVC is not bound');
  if ((claim.spec?.volumeName ?? '') === '') throw new ClaimError('PVC has empty pvc.Spec.VolumeName');
  return claim;
}

async function boundVolume(claim: PersistentVolumeClaim, reader: ClaimReader): Promise<PersistentVolume> {
  const name = claim.spec?.volumeName ?? '';
  const volume = await fetched(`failed to fetch PV ${name} from API server`, () => reader.volume(name));
  const uid = volume.spec?.claimRef?.uid;
  if (volume.spec?.claimRef === undefined) {
    throw new ClaimError(
      `found PV object ${name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim`,
    );
  }
  if (uid !== claim.metadata.uid) {
    throw new ClaimError(
      `found PV object ${name} but its pv.Spec.ClaimRef.UID ${uid ?? ''} does not point to claim.UID ${claim.metadata.uid}`,
    );
  }
  return volume;
}

function directoryOf(volume: string, { metadata, spec }: PersistentVolume): HostDirectory {
  const { volumeMode = 'Filesystem', local, hostPath } = spec ?? {};
  if (volumeMode !== 'Filesystem')
    throw new ClaimError(`volume ${volume} has volumeMode ${volumeMode}, but is specified in volumeMounts`);
  // A local volume is never made: a disk that is not mounted must not look like an empty one.
  if (local !== undefined) return { path: local.path, type: 'Directory', volume: metadata.name, isLocal: true };
  if (hostPath !== undefined)
    return { path: hostPath.path, type: hostPath.type ?? '', volume: metadata.name, isLocal: false };
  throw new ClaimError(
    `PersistentVolume ${metadata.name} is neither local nor hostPath: this node mounts no other kinds`,
  );
}

function mustBelongTo(pod: Pod, claim: PersistentVolumeClaim): void {
  const owner = (claim.metadata.ownerReferences ?? []).find(({ controller }) => controller === true);
  if (owner?.uid === pod.metadata.uid) return;
  const { namespace, name } = claim.metadata;
  throw new ClaimError(
    `PVC ${namespace}/${name} was not created for pod ${pod.metadata.namespace}/${pod.metadata.name} (pod is not owner)`,
  );
}

async function fetched<T>(what: string, fetch: () => Promise<T>): Promise<T> {
  try {
    return await fetch();
  } catch (error: unknown) {
    throw new ClaimError(`${what}: ${errorMessage(error)}`, { cause: error });
  }
}
