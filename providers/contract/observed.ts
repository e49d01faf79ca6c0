/** What the backend says. Only `list`, `inspect` and `watch` produce these, and only the PLEG consumes them. */

import type { Labels, PodIdentity } from './spec.ts';

/** One unit of the backend: what became of a SandboxSpec or a PodPlanSpec. */
export interface ObservedPod {
  readonly pod: PodIdentity;
  /** Backend name of the unit: pause container id, task ARN. For people and events, never parsed. */
  readonly unitId: string;
  readonly attempt: number;
  readonly createdAt: Date;
  readonly state: 'pending' | 'ready' | 'stopping' | 'stopped';
  /** Backend's own words for a unit that is not going to be ready ("CapacityUnavailable", "HostUnreachable"). */
  readonly reason?: string;
  readonly message?: string;
  readonly ips: readonly string[];
  readonly labels: Labels;
  /** Every incarnation the backend still remembers, dead ones included. */
  readonly containers: readonly ObservedContainer[];
}

/** One incarnation of one container, running or ended. */
export interface ObservedContainer {
  readonly name: string;
  readonly attempt: number;
  readonly id: string;
  readonly image: string;
  /** Digest form where the backend has one ("sha256:…"); shown in status.imageID. */
  readonly imageId?: string;
  readonly createdAt: Date;
  readonly state: ContainerState;
  readonly labels: Labels;
}

/** Where an incarnation stands. Times are the backend's. */
export type ContainerState =
  /** Made but not started yet. */
  | { readonly status: 'created' }
  | { readonly status: 'waiting'; readonly reason: string; readonly message?: string }
  | { readonly status: 'running'; readonly startedAt: Date }
  | {
      readonly status: 'exited';
      readonly exitCode: number;
      readonly signal?: number;
      readonly oomKilled: boolean;
      /** Set where the exit was not the command's own: 'StartError', 'ContainerCannotRun' (reference 1.5). */
      readonly reason?: string;
      readonly startedAt?: Date;
      readonly finishedAt: Date;
      readonly message?: string;
    }
  /** The backend answered, but cannot tell. Never used for "the backend did not answer": that is a thrown Unavailable. */
  | { readonly status: 'unknown'; readonly message: string };

/** A hint that something changed. Carries no state on purpose: the PLEG inspects, so a lost or repeated hint is harmless. */
export type ProviderHint = { readonly type: 'pod'; readonly uid: PodIdentity['uid'] } | { readonly type: 'resync' };

/** The machine, fleet or account behind the node. */
export interface HostReport {
  readonly os: string;
  readonly arch: string;
  readonly kernelVersion?: string;
  readonly osImage?: string;
  readonly machineId?: string;
  readonly systemUuid?: string;
  readonly bootId?: string;
  /** Also the scheme of container ids in status ("docker" gives docker://<id>, reference 0.3). */
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly capacity: {
    readonly cpuMilli: number;
    readonly memoryBytes: number;
    readonly ephemeralBytes?: number;
    readonly pods: number;
    readonly extended?: Readonly<Record<string, number>>;
  };
  /** Text of the resolv.conf that pods with dnsPolicy Default get; absent where they get the backend's own resolver. */
  readonly resolvConf?: string;
  readonly addresses: readonly { readonly type: 'InternalIP' | 'ExternalIP' | 'Hostname'; readonly address: string }[];
}
