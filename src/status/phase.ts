import type { Container, ContainerStatus, Pod } from '../model/pod.ts';
import { isSidecar, shouldRestart } from '../model/restart.ts';

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

export interface PhaseInput {
  readonly pod: Pod;
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
  /** Nothing runs any more and nothing will be started, whatever the restart policy says. */
  readonly finished: boolean;
  /** Some main container exists on the backend, so that the init sequence is over. */
  readonly anyMainSeen: boolean;
}

/** The phase that the container statuses amount to (reference 1.1). */
export function computePhase({ pod, init, main, finished, anyMainSeen }: PhaseInput): Phase {
  const { initContainers = [], containers } = pod.spec;
  const plain = initContainers.filter((container) => !isSidecar(container)).map((container) => see(container, init));
  const sidecars = initContainers.filter(isSidecar).map((container) => see(container, init));
  const regular = containers.map((container) => see(container, main));

  if (plain.some((seen) => seen.type === 'stopped' && seen.exitCode !== 0 && !restarts(pod, seen))) return 'Failed';
  if (plain.some((seen) => seen.type !== 'stopped')) return 'Pending';
  if (!anyMainSeen && sidecars.some(holdsBackMain)) return 'Pending';

  // A sidecar that stopped counts for nothing: it comes back as long as the main ones run.
  const counted = [...sidecars.filter((seen) => seen.type !== 'stopped'), ...regular];
  if (counted.some((seen) => seen.type === 'waiting')) return 'Pending';
  if (counted.some((seen) => seen.type === 'unknown')) return 'Pending';
  if (counted.some((seen) => seen.type === 'running')) return 'Running';
  const stopped = regular.filter((seen) => seen.type === 'stopped');
  if (stopped.length === 0) return 'Pending';
  if (!finished && stopped.some((seen) => restarts(pod, seen))) return 'Running';
  return stopped.every((seen) => seen.exitCode === 0 && !seen.waiting) ? 'Succeeded' : 'Failed';
}

type Seen =
  | { readonly type: 'unknown' | 'waiting' }
  | { readonly type: 'running'; readonly started: boolean }
  | Stopped;

interface Stopped {
  readonly type: 'stopped';
  readonly container: Container;
  readonly exitCode: number;
  /** It waits for its next start; then it never counts as succeeded (reference 1.1). */
  readonly waiting: boolean;
}

function see(container: Container, statuses: readonly ContainerStatus[]): Seen {
  const status = statuses.find(({ name }) => name === container.name);
  if (status?.state?.running !== undefined) return { type: 'running', started: status.started === true };
  if (status?.state?.terminated !== undefined) {
    return { type: 'stopped', container, exitCode: status.state.terminated.exitCode, waiting: false };
  }
  if (status?.state?.waiting === undefined) return { type: 'unknown' };
  const before = status.lastState?.terminated;
  return before === undefined
    ? { type: 'waiting' }
    : { type: 'stopped', container, exitCode: before.exitCode, waiting: true };
}

function restarts(pod: Pod, seen: Stopped): boolean {
  return shouldRestart(pod, seen.container, seen.exitCode);
}

/** The main containers wait for a sidecar that has never been up. */
function holdsBackMain(seen: Seen): boolean {
  return seen.type === 'waiting' || (seen.type === 'running' && !seen.started);
}
