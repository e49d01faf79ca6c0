import type { Container, Pod } from '../model/pod.ts';

/** The newest incarnation of a container that the backend knows. */
export interface Incarnation {
  readonly id: string;
  readonly attempt: number;
  readonly running: boolean;
  /** On the steady clock. */
  readonly startedMs: number;
}

/** The container that a probe asks about, as it stands now. */
export interface ProbeSubject {
  readonly pod: Pod;
  readonly container: Container;
  readonly podIP: string;
  readonly current: Incarnation | undefined;
  /** It has no startup probe, or that one has succeeded. */
  readonly started: boolean;
}
