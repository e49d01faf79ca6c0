import type { PodUid, Provider } from '../../providers/contract/index.ts';
import type { NodeFacts } from '../model/stores.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import type { ObjectSource } from './env-objects.ts';
import type {
  EventSink,
  HookControl,
  ImageSource,
  PodObserver,
  ProbeControl,
  ServiceSource,
  StatusSink,
  VolumeSource,
} from './ports.ts';

export interface ExecutorDeps {
  readonly provider: Provider;
  readonly events: EventSink;
  readonly status: StatusSink;
  readonly volumes: VolumeSource;
  readonly images: ImageSource & { forget(uid: PodUid): void };
  readonly services: ServiceSource;
  /** For environment variables. */
  readonly objects: ObjectSource;
  readonly probes: Pick<ProbeControl, 'forget'>;
  readonly hooks: Pick<HookControl, 'begin' | 'forget'>;
  /** Handler of a RuntimeClass (src/kube/runtime-classes.ts); throws where there is no such class. */
  readonly runtimeHandler?: (name: string, options: { readonly signal: AbortSignal }) => Promise<string>;
  readonly metrics?: PodObserver;
  readonly facts: () => NodeFacts | undefined;
  readonly settings: PodSettings;
  /** Bounds driving calls across pods: a backend is not asked for a hundred things at once. */
  readonly limit: <T>(call: () => Promise<T>) => Promise<T>;
  /** The desired store lets go of the pod. */
  readonly forget: (uid: PodUid) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

/** The part of the configuration that shapes pods. */
interface PodSettings {
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly podPidsLimit?: number;
  readonly maxRestartBackoffMs: number;
}
