import type { DialFacet, ExecFacet, ObservedPod, PodUid } from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';
import type { ProbeFailure } from '../model/stores.ts';
import type { EventSink, ProbeControl, ProbeInput } from '../pod/ports.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import type { ProbeMetrics } from './metrics.ts';

export interface ProberOptions {
  /** Absent where the backend cannot: admission refuses pods that need it (src/spec/unsupported-probe.ts). */
  readonly exec?: ExecFacet;
  readonly dial?: DialFacet;
  readonly events: EventSink;
  /** A result has changed: look at this pod again. */
  readonly notify: (uid: PodUid) => void;
  readonly metrics?: ProbeMetrics;
  /** When this process started; younger than one period, it spreads the first probes (reference 4.2.1). */
  readonly processStartMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Pick<Logger, 'debug' | 'error'>;
  /** Life of the node: ends all probes. */
  readonly signal: AbortSignal;
}

/** The probes of all pods of one node (reference 4). */
export class Prober implements ProbeControl {
  constructor(_options: ProberOptions) {}

  /**
   * Which incarnations there are, told before a status is computed: a container that survived a restart of this process keeps
   * what the API server has of it (reference 4.8). Starts nothing; `sync` includes it.
   */
  observe(_pod: Pod, _observed: ObservedPod | undefined): void {}

  sync(_input: ProbeInput): void {}

  started(_uid: PodUid, _container: string, _attempt: number): boolean {
    return true;
  }

  ready(_uid: PodUid, _container: string, _attempt: number): boolean {
    return true;
  }

  failure(_uid: PodUid, _container: string, _attempt: number): ProbeFailure | undefined {
    return undefined;
  }

  forget(_uid: PodUid): void {}
}
