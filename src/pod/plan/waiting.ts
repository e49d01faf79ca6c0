import type { ContainerState } from '../../../providers/contract/index.ts';
import { type ContainerRole, podContainers } from '../../model/containers.ts';
import { type Container, formatPod, type Pod } from '../../model/pod.ts';
import { shouldRestart } from '../../model/restart.ts';
import { formatDuration } from '../../util/duration.ts';
import type { Backoff } from './memory.ts';
import { restartAtMs } from './restart.ts';
import { incarnations, mayRun, type Snapshot } from './snapshot.ts';
import { lastUnitExitMs, UNIT } from './unit.ts';

export interface WaitingReason {
  readonly reason: string;
  readonly message?: string;
}

/** Why containers that should run do not: back-offs and failed starts, by container name (reference 1.5). */
export function waitingReasons(snapshot: Snapshot & { readonly pod: Pod }): ReadonlyMap<string, WaitingReason> {
  const { pod, observed, memory } = snapshot;
  const reasons = new Map<string, WaitingReason>();
  for (const { container, role } of podContainers(pod)) {
    const last = incarnations(observed, container.name)[0];
    if (last !== undefined && mayRun(last)) continue;
    if (last?.state.status === 'exited' && isOver(pod, container, role, last.state)) continue;
    const finishedAtMs = last?.state.status === 'exited' ? last.state.finishedAt.getTime() : undefined;
    const reason =
      crashLoop(snapshot, container.name, memory.backoffs.get(container.name), finishedAtMs) ??
      // On a backend of whole pods the containers wait together.
      crashLoop(snapshot, container.name, memory.backoffs.get(UNIT), lastUnitExitMs(observed)) ??
      memory.starts.get(container.name);
    if (reason !== undefined)
      reasons.set(container.name, { reason: reason.reason, ...(reason.message ? { message: reason.message } : {}) });
  }
  return reasons;
}

/** It ended, and will not start again. */
function isOver(
  pod: Pod,
  container: Container,
  role: ContainerRole,
  { exitCode, oomKilled }: Extract<ContainerState, { status: 'exited' }>,
): boolean {
  if (role === 'ephemeral') return true;
  if (role === 'init' && exitCode === 0 && !oomKilled) return true;
  return !shouldRestart(pod, container, exitCode);
}

function crashLoop(
  { nowMs, pod }: Snapshot & { readonly pod: Pod },
  name: string,
  backoff: Backoff | undefined,
  finishedAtMs: number | undefined,
): WaitingReason | undefined {
  if (backoff === undefined || finishedAtMs === undefined || backoff.shownForMs !== finishedAtMs) return undefined;
  const atMs = restartAtMs(backoff, finishedAtMs);
  if (atMs === undefined || nowMs >= atMs) return undefined;
  const delay = formatDuration(backoff.delayMs);
  return {
    reason: 'CrashLoopBackOff',
    message: `back-off ${delay} restarting failed container=${name} pod=${formatPod(pod)}`,
  };
}
