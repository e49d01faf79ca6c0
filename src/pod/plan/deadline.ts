import { isTerminalPhase, type Pod } from '../../model/pod.ts';
import { earliest, type Plan } from './actions.ts';
import { type Snapshot, statusOf } from './snapshot.ts';

/** The kubelet's words of a pod that ran out of its time (reference 2.9). */
const DEADLINE_EXCEEDED = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const;

/** A plan that also keeps the pod's activeDeadlineSeconds, counted from `status.startTime` (reference 2.9). */
export function withDeadline(plan: (snapshot: Snapshot) => Plan): (snapshot: Snapshot) => Plan {
  return (snapshot) => {
    const dueAtMs = deadlineMs(snapshot);
    if (dueAtMs === undefined) return plan(snapshot);
    if (snapshot.nowMs >= dueAtMs) return { actions: [{ type: 'overrule', ...DEADLINE_EXCEEDED }] };
    const next = plan(snapshot);
    const wakeAtMs = earliest(next.wakeAtMs, dueAtMs);
    return wakeAtMs === undefined ? next : { ...next, wakeAtMs };
  };
}

/** Undefined: the pod has none, or it does not matter any more. */
function deadlineMs(snapshot: Snapshot): number | undefined {
  const { pod, stop, memory } = snapshot;
  const seconds = pod?.spec.activeDeadlineSeconds;
  if (seconds === undefined || stop !== undefined || memory.override !== undefined) return undefined;
  if (memory.admission?.type === 'rejected' || isTerminalPhase(statusOf(snapshot).phase)) return undefined;
  const startedMs = startTimeMs(snapshot, pod);
  return startedMs === undefined ? undefined : startedMs + seconds * 1000;
}

function startTimeMs(snapshot: Snapshot, pod: Pod | undefined): number | undefined {
  const text = statusOf(snapshot).startTime ?? pod?.status?.startTime;
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : ms;
}
