/**
 * The contract between the kubelet core and a backend.
 *
 * One observing surface, two driving surfaces. Every backend is observed the same way: pods made of containers,
 * each with an attempt number. How it is driven depends on what it can really do: a container-level backend takes
 * one container at a time and the core sequences them; a pod-level backend takes the whole pod and sequences itself.
 *
 * Rules that hold for every method:
 *  - It is idempotent on its key (pod uid, or container ref). Retrying after a crash is always safe.
 *  - Driving methods report acceptance, not outcome. The outcome is seen through `list`/`inspect`.
 *  - It throws ProviderError and nothing else (an AbortError when the signal fired).
 *  - The core never runs two driving calls for the same pod at once; across pods it does.
 *  - Nothing is kept in memory that a restart may not lose: labels and names on the backend are the database.
 */

import type { CallOptions } from './call.ts';
import type { HostReport, ObservedPod, ProviderHint } from './observed.ts';
import type {
  ContainerRef,
  ContainerSpec,
  Labels,
  PodUid,
  RegistryAuth,
  SandboxSpec,
  SecuritySpec,
  VolumeSpec,
} from './spec.ts';
import type { StatsFacet } from './stats.ts';
import type { AttachFacet, DialFacet, ExecFacet, FileFacet, LogFacet } from './streams.ts';

/**
 * What a backend supports that cannot be read off its methods. Admission compares a pod with these and rejects
 * it with a reason, instead of running it with a feature silently missing. What a backend must be asked for counts as missing until
 * `describeHost` has answered once.
 */
export interface ProviderTraits {
  readonly network: {
    /** Whether the kubelet process can open a socket to a pod IP without `dial`. */
    readonly podIpReachable: boolean;
    /** Whether the pod IP exists before the first container starts; without it, env from status.podIP is a violation. */
    readonly podIpKnownBeforeStart: boolean;
    /** Whether containers of a pod share one network namespace (localhost between them). */
    readonly sharedNamespace: boolean;
    readonly hostNetwork: boolean;
    readonly hostPorts: boolean;
    /** 'required' where each node needs a pod network of its own (SandboxSpec.network.subnet); without a CIDR the node stays NotReady. */
    readonly subnet: 'required' | 'unused';
  };
  readonly volumes: ReadonlySet<VolumeSpec['kind']>;
  /**
   * Mounts of a part of a volume (`subPath`): none, only of `files` volumes, whose content nobody but the node writes, or of all. A
   * path in a volume that containers write to must be resolved so that a link they swap in cannot lead out.
   */
  readonly subPaths: 'none' | 'files' | 'all';
  /** Whether volumes are given to a group (`ownerGid`). */
  readonly fsGroup: boolean;
  /** Whether MountSpec.propagation is honoured. */
  readonly mountPropagation: boolean;
  /** Whether a read-only mount makes the mounts below it read-only too. */
  readonly recursiveReadOnly: boolean;
  /** SecuritySpec fields the backend enforces. A pod asking for another one is rejected. */
  readonly security: ReadonlySet<keyof SecuritySpec>;
  readonly ephemeralContainers: boolean;
  readonly initContainers: boolean;
  readonly sidecars: boolean;
  readonly sharePidNamespace: boolean;
  readonly hostPid: boolean;
  readonly hostIpc: boolean;
  readonly sysctls: boolean;
  /** Whether SandboxSpec.runtimeHandler is honoured. */
  readonly runtimeHandlers: boolean;
  /** Whether an ephemeral container can join the processes of another container (`targetContainer`). */
  readonly ephemeralTarget: boolean;
  /** How often the PLEG lists when `watch` is absent or silent. */
  readonly relistIntervalMs: number;
  /** The longest grace period the backend honours, if it has a ceiling. */
  readonly maxGraceSeconds?: number;
  /** False where the grace period is fixed at launch (ECS): StopRequest.graceSeconds is then ignored. */
  readonly graceAdjustable: boolean;
}

/** A reason this backend can never run this pod, in words for the pod's status. */
export interface Violation {
  readonly reason: string;
  readonly message: string;
}

/** Everything about a pod, for validation and for pod-level launch. */
export interface PodPlanSpec {
  readonly sandbox: SandboxSpec;
  /** In spec order: init and sidecar containers first, then main ones. */
  readonly containers: readonly ContainerSpec[];
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  readonly graceSeconds: number;
  readonly registryAuth: readonly RegistryAuth[];
}

interface ProviderBase {
  readonly name: string;
  readonly traits: ProviderTraits;

  /**
   * Static fit check, free of I/O. An empty answer means "worth trying". Contents of `files` volumes may still be
   * missing here: judge kinds, names and numbers.
   */
  validate(spec: PodPlanSpec): readonly Violation[];

  /** Capacity, addresses and versions. Polled; a throw makes the node NotReady after a while. */
  describeHost(options: CallOptions): Promise<HostReport>;

  /**
   * Every pod carrying our owner labels, dead ones included. An empty list is a claim that there are none:
   * when any part of the backend could not be asked, throw Unavailable rather than leave something out.
   */
  list(options: CallOptions): Promise<readonly ObservedPod[]>;

  /** The same for one pod; undefined when the backend knows nothing of it. */
  inspect(uid: PodUid, options: CallOptions): Promise<ObservedPod | undefined>;

  /** Hints that make the PLEG quicker. Optional, lossy, may end at any time (the PLEG reopens it and relists). */
  watch?(options: CallOptions): AsyncIterable<ProviderHint>;

  /** Presence of a facet is the capability: an absent one answers 501 at the server and fails admission where a pod needs it. */
  readonly logs?: LogFacet;
  readonly exec?: ExecFacet;
  readonly attach?: AttachFacet;
  readonly dial?: DialFacet;
  readonly files?: FileFacet;
  readonly stats?: StatsFacet;

  /**
   * Replaces the content of a `files` volume of a live pod (rotated token, edited ConfigMap). A container sees the
   * old set or the new set, never a mixture. Absent: content is fixed at start.
   */
  updateFiles?(uid: PodUid, volume: Extract<VolumeSpec, { kind: 'files' }>, options: CallOptions): Promise<void>;

  /**
   * One file of a volume of a pod that is there, written by its containers (env from files, reference 10.4). `path` is relative; links
   * on it are followed inside the volume only. Undefined: there is no such file. Absent: admission refuses what needs it.
   */
  readVolumeFile?(uid: PodUid, volume: string, path: string, options: CallOptions): Promise<Uint8Array | undefined>;

  /** Lets go of connections. Leaves every pod running. */
  close(): Promise<void>;
}

/** How to stop a container or a unit. */
export interface StopRequest {
  /** 0 means kill now. May be called again with a smaller value to hurry an earlier stop. */
  readonly graceSeconds: number;
}

/** An image that is on the backend. */
export interface PulledImage {
  readonly imageId: string;
  readonly sizeBytes?: number;
  /** USER of the image's configuration, as written there ("", "1000", "nobody", "1000:1000"); for runAsNonRoot. */
  readonly user?: string;
}

/** Images of a container-level backend, by the reference as the pod writes it, with `:latest` where it names neither tag nor digest. */
export interface ImageFacet {
  /** Undefined: it has to be pulled first. Asks no registry. */
  imagePresent(image: string, options: CallOptions): Promise<PulledImage | undefined>;
  /** Tries the credentials in their order; the next ones only after a refusal. Without any it asks anonymously. */
  pullImage(image: string, auth: readonly RegistryAuth[], options: CallOptions): Promise<PulledImage>;
  listImages(
    options: CallOptions,
  ): Promise<readonly { readonly id: string; readonly names: readonly string[]; readonly sizeBytes: number }[]>;
  /** With all its names. Throws NotFound for an image that is not there. */
  removeImage(id: string, options: CallOptions): Promise<void>;
}

/** A backend that runs containers one by one: Docker, SSH to a Docker host, any CRI-like engine. */
export interface ContainerProvider extends ProviderBase {
  readonly kind: 'container';
  readonly images: ImageFacet;

  /**
   * Makes the pod's network and volumes exist, with `files` volumes filled. Succeeds at once when they already do. A higher
   * attempt replaces a sandbox that has stopped: dead containers and the content of volumes stay.
   */
  ensureSandbox(spec: SandboxSpec, options: CallOptions): Promise<void>;

  /**
   * Creates and starts one container in an existing sandbox. The image is already present. A container that was made but could
   * not be started (no such command) throws with reason 'StartError' and is observed as exited: code 128, the same reason, the
   * backend's words as message, startedAt at the epoch (reference 1.5).
   */
  startContainer(sandbox: SandboxSpec, spec: ContainerSpec, options: CallOptions): Promise<void>;

  /**
   * Asks one container to stop: its stop signal when graceSeconds > 0, an immediate kill when 0. Resolves when the request has
   * reached the backend; the exit is observed. The core keeps the time and asks again with 0 when the grace period is over.
   */
  stopContainer(ref: ContainerRef, request: StopRequest, options: CallOptions): Promise<void>;

  /** Forgets an exited container, logs included. */
  removeContainer(ref: ContainerRef, options: CallOptions): Promise<void>;

  /** Ends the pod's network (the address becomes free) and keeps exited containers, their logs and the volumes. */
  stopSandbox(uid: PodUid, options: CallOptions): Promise<void>;

  /** Removes network, volumes and whatever containers are left, running ones included. */
  removeSandbox(uid: PodUid, options: CallOptions): Promise<void>;
}

/** A backend whose smallest unit is the pod: ECS task, Azure container group, batch job. */
export interface PodProvider extends ProviderBase {
  readonly kind: 'pod';
  /** 'backend' when it restarts single containers by itself; 'none' when one exit ends the unit and the core relaunches it. */
  readonly containerRestart: 'backend' | 'none';

  /** Starts the whole pod. The key is (pod uid, sandbox.attempt): a repeat finds the unit already there. */
  launchPod(spec: PodPlanSpec, options: CallOptions): Promise<void>;

  /** Asks the unit to stop. Resolves when the request has reached the backend. */
  stopPod(uid: PodUid, request: StopRequest, options: CallOptions): Promise<void>;

  /** Forgets a stopped unit and everything made for it (task definition, network interface, log group entry). */
  removePod(uid: PodUid, options: CallOptions): Promise<void>;
}

/** One node's backend. `kind` says how it is driven. */
export type Provider = ContainerProvider | PodProvider;

/** What the core lends a provider. */
export interface ProviderContext {
  readonly nodeName: string;
  /** Every unit a provider makes carries these; `list` returns only units that carry all of them. */
  readonly ownerLabels: Labels;
  readonly log: ProviderLog;
  /** Test seam for time; providers schedule nothing without it. */
  readonly clock: { now(): number; sleep(ms: number, options: CallOptions): Promise<void> };
  /** Aborts when the process is going down. */
  readonly signal: AbortSignal;
}

/** The part of a pino logger a provider may use. */
export interface ProviderLog {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** What `providers/<name>/index.ts` exports under the name `provider`; the registry imports it lazily by name. */
export interface ProviderModule<Config> {
  readonly name: string;
  /** Validates and defaults the provider's own section of the configuration; throws with a readable path on error. */
  parseConfig(raw: unknown): Config;
  create(config: Config, context: ProviderContext): Promise<Provider>;
}
