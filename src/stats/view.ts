import type {
  ContainerStorage,
  HostUsage,
  NetworkUsage,
  ObservedPod,
  PodIdentity,
  PodStorage,
  PodUid,
  PodUsage,
  StorageUsage,
} from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';
import { type Measured, total } from './totals.ts';

/** Everything that is known at one moment, joined: what the three outputs are made of. Pure. */
export interface StatsView {
  readonly nodeName: string;
  readonly host?: HostUsage;
  readonly hostNanoCores?: number;
  readonly pods: readonly PodView[];
  /** This process. */
  readonly self?: SelfView;
  readonly storage?: Pick<StorageUsage, 'timeMs' | 'imageBytes'>;
}

export interface PodView {
  readonly pod: PodIdentity;
  readonly createdMs: number;
  readonly containers: readonly ContainerView[];
  readonly sandbox?: Measured & { readonly id: string; readonly image: string };
  /** Of the whole pod: measured as one, or added up. */
  readonly total?: Measured;
  readonly network?: NetworkUsage;
  readonly volumes: readonly VolumeView[];
}

export interface ContainerView extends Measured {
  readonly name: string;
  readonly id: string;
  readonly image: string;
  /** Of this incarnation. */
  readonly startedMs: number;
  readonly storage?: ContainerStorage;
}

export interface VolumeView {
  readonly name: string;
  readonly usedBytes?: number;
  readonly inodesUsed?: number;
  readonly claim?: string;
  /** Counts as the pod's own ephemeral storage. */
  readonly local: boolean;
}

export interface SelfView extends Measured {
  readonly startedMs: number;
}

export interface ViewInput {
  readonly nodeName: string;
  readonly usage: readonly PodUsage[];
  readonly host?: HostUsage;
  readonly storage?: StorageUsage;
  readonly self?: SelfView;
  /** Nanocores by `rateKey`. */
  readonly rate: (key: string) => number | undefined;
  readonly observed: (uid: PodUid) => ObservedPod | undefined;
  readonly desired: (uid: PodUid) => Pod | undefined;
}

export const HOST_KEY = 'host';
export const SELF_KEY = 'self';

/** What a rate is kept under: an incarnation, never a name that a later one takes over. */
export function rateKey(uid: PodUid, part: string, attempt: number | string): string {
  return `${uid}/${part}#${attempt}`;
}

export const SANDBOX_PART = ' sandbox';
export const TOTAL_PART = ' total';

export function buildView(input: ViewInput): StatsView {
  const { nodeName, host, storage, self, rate } = input;
  const stored = new Map(storage?.pods.map((pod) => [pod.pod.uid, pod]));
  const hostNanoCores = rate(HOST_KEY);
  return {
    nodeName,
    ...(host === undefined ? {} : { host }),
    ...(hostNanoCores === undefined ? {} : { hostNanoCores }),
    pods: input.usage.flatMap((usage) => podView(usage, stored.get(usage.pod.uid), input) ?? []),
    ...(self === undefined ? {} : { self }),
    ...(storage === undefined ? {} : { storage }),
  };
}

/** Only what is also seen to run: a pod that is gone by now, and a container that has just ended, are no longer told of. */
function podView(usage: PodUsage, stored: PodStorage | undefined, input: ViewInput): PodView | undefined {
  const { pod, network } = usage;
  const observed = input.observed(pod.uid);
  if (observed === undefined) return undefined;
  const containers = usage.containers.flatMap(({ name, attempt, ...task }): ContainerView[] => {
    const seen = observed.containers.find((other) => other.name === name && other.attempt === attempt);
    if (seen?.state.status !== 'running') return [];
    const found = stored?.containers.find((other) => other.name === name && other.attempt === attempt);
    return [
      {
        name,
        id: seen.id,
        image: seen.image,
        startedMs: seen.state.startedAt.getTime(),
        ...measured(task, input.rate(rateKey(pod.uid, name, attempt))),
        ...(found === undefined ? {} : { storage: found }),
      },
    ];
  });
  const sandbox = sandboxView(usage, input);
  const whole =
    usage.total === undefined
      ? podTotal(containers, sandbox)
      : measured(usage.total, input.rate(rateKey(pod.uid, TOTAL_PART, '')));
  return {
    pod,
    createdMs: observed.createdAt.getTime(),
    containers,
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(whole === undefined ? {} : { total: whole }),
    ...(network === undefined ? {} : { network }),
    volumes: volumeViews(stored, input.desired(pod.uid)),
  };
}

/** The kubelet limits a pod to what its containers together may have, if each of them has a limit; a sandbox never has one. */
function podTotal(containers: readonly Measured[], sandbox: Measured | undefined): Measured | undefined {
  const whole = total(sandbox === undefined ? containers : [...containers, sandbox]);
  const limitBytes = total(containers)?.task.memory?.limitBytes;
  if (whole?.task.memory === undefined || limitBytes === undefined) return whole;
  return { ...whole, task: { ...whole.task, memory: { ...whole.task.memory, limitBytes } } };
}

function sandboxView({ pod, sandbox }: PodUsage, { rate }: ViewInput): PodView['sandbox'] {
  if (sandbox === undefined) return undefined;
  const { id, image, ...task } = sandbox;
  return { id, image: image ?? '', ...measured(task, rate(rateKey(pod.uid, SANDBOX_PART, id))) };
}

function measured(task: Measured['task'], nanoCores: number | undefined): Measured {
  return nanoCores === undefined ? { task } : { task, nanoCores };
}

/** Volumes that the pod no longer names, or whose pod is not known, are the backend's leftovers. */
function volumeViews(stored: PodStorage | undefined, pod: Pod | undefined): readonly VolumeView[] {
  return (stored?.volumes ?? []).flatMap((volume) => {
    const spec = pod?.spec.volumes?.find(({ name }) => name === volume.name);
    if (spec === undefined) return [];
    const { persistentVolumeClaim, ephemeral, emptyDir } = spec;
    const claim =
      persistentVolumeClaim?.claimName ??
      (ephemeral === undefined ? undefined : `${pod?.metadata.name}-${volume.name}`);
    // util.IsLocalEphemeralVolume: content of the kubelet, and directories that are no memory.
    const local =
      (emptyDir !== undefined && emptyDir.medium !== 'Memory') ||
      spec.configMap !== undefined ||
      spec.gitRepo !== undefined;
    return [{ ...volume, ...(claim === undefined ? {} : { claim }), local }];
  });
}
