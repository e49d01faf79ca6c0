import { isTerminalPhase } from './model/pod.ts';
import type { PodStack } from './pod-stack.ts';
import type { PodCounts } from './telemetry/metrics/pod-metrics.ts';

/** What a scrape counts, read from where it is known anyway. */
export function podCounts(stack: () => PodStack): PodCounts {
  return {
    desired: () => [...stack().desired.all()].filter(({ stop }) => stop?.type !== 'removed').length,
    active: () =>
      [...stack().desired.all()].filter(
        ({ pod, stop }) => stop?.type !== 'removed' && !isTerminalPhase(pod.status?.phase),
      ).length,
    working: () => stack().workers.counts(),
    running: () => [...stack().pleg.all()].filter(({ state }) => state === 'ready').length,
    containers: () => {
      const counts = new Map<string, number>();
      for (const { containers } of stack().pleg.all()) {
        for (const { state } of containers) {
          // The backend's own `waiting` is a container that is made but does not run.
          const name = state.status === 'waiting' ? 'created' : state.status;
          counts.set(name, (counts.get(name) ?? 0) + 1);
        }
      }
      return counts;
    },
    turning: () => stack().workers.turning,
    queued: () => stack().waitingCalls,
    unwritten: () => stack().writer.pending,
  };
}
