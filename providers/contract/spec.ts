/** What the kubelet wants. Plain data: no Kubernetes types, no functions. Never logged as a whole: environment, files and credentials are secret. */

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** Kubernetes pod UID. The only key under which two pods are ever "the same pod". */
export type PodUid = Brand<string, 'PodUid'>;

/** Opaque key/value pairs a backend must store with a unit and give back unchanged from `list()`. */
export type Labels = Readonly<Record<string, string>>;

/** Which pod; `namespace` and `name` are for people and labels only. */
export interface PodIdentity {
  readonly uid: PodUid;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Names one incarnation of one container. It doubles as the idempotency key:
 * starting the same ref twice must leave exactly one container behind.
 */
export interface ContainerRef {
  readonly podUid: PodUid;
  readonly container: string;
  /** 0 for the first start; equals the pod status's restartCount while this incarnation is current. */
  readonly attempt: number;
}

/** The shared part of a pod: identity, network namespace, volumes. */
export interface SandboxSpec {
  readonly pod: PodIdentity;
  /** Incremented when the sandbox itself had to be replaced (host lost, network gone, unit relaunched). */
  readonly attempt: number;
  readonly hostname: string;
  readonly network: NetworkSpec;
  readonly volumes: readonly VolumeSpec[];
  readonly sharePidNamespace: boolean;
  /** Containers see the processes of the machine. Absent: they do not. */
  readonly hostPid?: boolean;
  /** Containers share IPC, /dev/shm included, with the machine. Absent: they do not. */
  readonly hostIpc?: boolean;
  /** Kernel parameters of the pod's namespaces, dots as separators. */
  readonly sysctls?: Readonly<Record<string, string>>;
  /** Which runtime of the backend runs the pod (handler of its RuntimeClass). Absent: the default one. */
  readonly runtimeHandler?: string;
  /** Ownership and recovery labels, see `ProviderContext.ownerLabels`. */
  readonly labels: Labels;
  /** Pod annotations under the provider's own prefix, prefix removed ("taskRoleArn", "gpus", ...). */
  readonly hints: Readonly<Record<string, string>>;
}

/** The pod's network namespace and what is written into its resolver. */
export interface NetworkSpec {
  readonly mode: 'pod' | 'host';
  /** The node's own pod network in CIDR form; present when the provider's trait asks for one. All pods of a node share it. */
  readonly subnet?: string;
  readonly ports: readonly PortSpec[];
  readonly dns?: {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
  /** Names of the pod's own addresses, for /etc/hosts; none on the host's network. */
  readonly hostnames?: readonly string[];
  /** More lines of /etc/hosts. */
  readonly hostAliases: readonly { readonly ip: string; readonly hostnames: readonly string[] }[];
}

/** A declared port; only one with `hostPort` asks the backend for anything. */
export interface PortSpec {
  readonly containerPort: number;
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly hostPort?: number;
  readonly hostIp?: string;
}

/** One incarnation of one container, with final values: nothing is left to resolve. */
export interface ContainerSpec {
  readonly name: string;
  readonly attempt: number;
  /** Order matters only to pod-level backends; container-level backends are handed one container at a time. */
  readonly role: 'init' | 'sidecar' | 'main' | 'ephemeral';
  readonly image: string;
  /** Absent means "the image's own". Values are final: variables are already expanded. */
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  /** Final values, in order, later wins. */
  readonly env: readonly EnvEntry[];
  readonly mounts: readonly MountSpec[];
  readonly resources: ResourceSpec;
  readonly security: SecuritySpec;
  /** An ephemeral container that joins the processes of this one; where that never was, `startContainer` throws the kubelet's text. */
  readonly targetContainer?: string;
  readonly terminal: { readonly tty: boolean; readonly stdin: boolean; readonly stdinOnce: boolean };
  readonly stopSignal?: string;
  readonly terminationMessagePath?: string;
  readonly labels: Labels;
}

/** One environment variable. */
export interface EnvEntry {
  readonly name: string;
  readonly value: string;
  /** From a Secret, or made with a value from one: a backend that has a place for secrets keeps it there. */
  readonly sensitive?: true;
}

/** A volume of the sandbox, by name, in a container. `path` is absolute. */
export interface MountSpec {
  readonly volume: string;
  readonly path: string;
  /** Relative, normalised, never climbing: only this file or directory of the volume. Links inside the volume never lead out of it. */
  readonly subPath?: string;
  readonly readOnly: boolean;
  /** Mounts made later on one side show on the other: from the host, or both ways. Absent: neither. */
  readonly propagation?: 'HostToContainer' | 'Bidirectional';
}

/** Requests and limits of one container. Absent: nothing was asked for, or no limit. */
export interface ResourceSpec {
  /** Thousandths of a CPU. */
  readonly cpuRequestMilli?: number;
  readonly cpuLimitMilli?: number;
  readonly memoryRequestBytes?: number;
  readonly memoryLimitBytes?: number;
  /** Greatest number of processes in the container (KubeletConfiguration.podPidsLimit). */
  readonly pidsLimit?: number;
  /** Which is killed first when the machine runs out of memory: -1000 (never) to 1000. A backend that may not go so low takes its lowest. */
  readonly oomScoreAdj?: number;
  /** Extended resources ("nvidia.com/gpu": 1), as whole counts. */
  readonly extended?: Readonly<Record<string, number>>;
}

/** Security context of pod and container as one. Absent fields are the backend's default. */
export interface SecuritySpec {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly supplementalGroups?: readonly number[];
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly addCapabilities?: readonly string[];
  readonly dropCapabilities?: readonly string[];
  /** One of the machine's own is named by its file, relative to where the backend keeps such files. */
  readonly seccompProfile?: 'RuntimeDefault' | 'Unconfined' | { readonly localhost: string };
}

/** Sources are resolved before the provider sees them: a ConfigMap, Secret, token or downward item is just `files`. */
export type VolumeSpec =
  | {
      readonly kind: 'files';
      readonly name: string;
      readonly files: readonly FileEntry[];
      /** Content hash; `updateFiles` is called when it changes. */
      readonly revision: string;
      /** 'memory' asks the backend to keep the content off disk (secrets, tokens). */
      readonly medium: 'disk' | 'memory';
      /** Group that may read everything, and that directories hand on to what is made in them (fsGroup, reference 9.11). */
      readonly ownerGid?: number;
    }
  | {
      readonly kind: 'emptyDir';
      readonly name: string;
      readonly medium: 'disk' | 'memory';
      readonly sizeLimitBytes?: number;
      /** Group that may write; what is made inside belongs to it. */
      readonly ownerGid?: number;
    }
  | {
      readonly kind: 'hostPath';
      readonly name: string;
      /** Absolute, on the machine that runs the containers. */
      readonly path: string;
      /**
       * What has to be there before a container starts, in the API's words (reference 9.6): `''` asks for nothing and has a directory
       * made where nothing is. Otherwise `ensureSandbox` throws with the kubelet's text and `volume` set.
       */
      readonly type: string;
      /** No container may write to it, whatever its mount says (a claim that the pod uses read-only). */
      readonly readOnly?: boolean;
    }
  | {
      readonly kind: 'native';
      readonly name: string;
      readonly driver: string;
      readonly options: Readonly<Record<string, string>>;
    };

/** One file of a `files` volume. */
export interface FileEntry {
  /** Relative, normalised, never escaping the volume root. */
  readonly path: string;
  /** Permission bits, such as 0o644. */
  readonly mode: number;
  /** Owner; root when absent. A bound token belongs to the pod's single runAsUser (reference 9.5). */
  readonly uid?: number;
  readonly data: Uint8Array;
}

/** Credentials for one registry (`host[:port]`), from a pull secret. */
export interface RegistryAuth {
  readonly registry: string;
  readonly username?: string;
  readonly password?: string;
  readonly identityToken?: string;
}
