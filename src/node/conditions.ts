import type { NodeStatus } from '../kube/nodes.ts';
import { toTime } from '../model/pod.ts';
import { formatDuration } from '../util/duration.ts';

export type NodeCondition = NonNullable<NodeStatus['conditions']>[number];

export type RuntimeState =
  /** Not asked yet, or no clear answer yet. */
  | { readonly status: 'unchecked' }
  | { readonly status: 'up' }
  /** The backend's own words. */
  | { readonly status: 'down'; readonly reason: string; readonly message: string };

export interface NodeHealth {
  readonly runtime: RuntimeState;
  readonly pleg: { readonly healthy: boolean; readonly lastSeenMs: number };
  /** Why pods cannot have a network here; undefined when they can, or need none. */
  readonly networkProblem: string | undefined;
}

const PLEG_THRESHOLD = '3m0s';
/** A condition is read by people in one line of `kubectl describe`. */
const MAX_WORDS = 500;

/** What keeps the node from being Ready, in the kubelet's words and order (reference 5.7). */
export function readyProblems({ runtime, pleg, networkProblem }: NodeHealth, now: number): string[] {
  const problems: string[] = [];
  if (runtime.status === 'unchecked') problems.push('container runtime status check may not have completed yet');
  if (runtime.status === 'down') problems.push('container runtime is down');
  if (!pleg.healthy) {
    const age = formatDuration(Math.round((now - pleg.lastSeenMs) / 1000) * 1000);
    problems.push(`PLEG is not healthy: pleg was last seen active ${age} ago; threshold is ${PLEG_THRESHOLD}`);
  }
  if (runtime.status === 'down') {
    problems.push(
      `container runtime not ready: RuntimeReady=false reason:${runtime.reason} message:${oneLine(runtime.message)}`,
    );
  }
  if (networkProblem !== undefined) {
    problems.push(
      `container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:${networkProblem}`,
    );
  }
  return problems;
}

/** The kubelet's aggregate error: one prints bare, several as `[a, b]`, repetitions once. */
export function joinProblems(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`;
}

/**
 * The four conditions that are ours, Ready last. Foreign ones (NetworkUnavailable) are not among them: the patch merges by type.
 * Pressure is not measured yet; False is what a node without eviction says.
 */
export function nodeConditions(
  previous: readonly NodeCondition[],
  problems: readonly string[],
  now: number,
): NodeCondition[] {
  const ready = problems.length === 0;
  return [
    condition('MemoryPressure', false, 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
    condition('DiskPressure', false, 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
    condition('PIDPressure', false, 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
    ready
      ? condition('Ready', true, 'KubeletReady', 'kubelet is posting ready status')
      : condition('Ready', false, 'KubeletNotReady', joinProblems(problems)),
  ].map((next) => {
    const before = previous.find(({ type }) => type === next.type);
    const unchanged = before?.status === next.status ? before.lastTransitionTime : undefined;
    return { ...next, lastHeartbeatTime: toTime(now), lastTransitionTime: unchanged ?? toTime(now) };
  });
}

/** Whether the node changed, heartbeat times aside. */
export function sameConditions(previous: readonly NodeCondition[], next: readonly NodeCondition[]): boolean {
  return next.every(({ type, status, reason, message }) => {
    const before = previous.find((candidate) => candidate.type === type);
    return before?.status === status && before.reason === reason && before.message === message;
  });
}

function condition(type: string, status: boolean, reason: string, message: string): NodeCondition {
  return { type, status: status ? 'True' : 'False', reason, message };
}

function oneLine(words: string): string {
  return words.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_WORDS);
}
