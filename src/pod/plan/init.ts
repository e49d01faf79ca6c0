import type { ObservedContainer } from '../../../providers/contract/index.ts';
import type { Container, Pod } from '../../model/pod.ts';
import { isSidecar, shouldRestart } from '../../model/restart.ts';
import { assessRunning, type Need, startNeed } from './need.ts';
import { incarnations, type Snapshot, stopKey } from './snapshot.ts';

export interface InitPlan {
  /** In spec order. */
  readonly needs: readonly Need[];
  /** The main containers may start. */
  readonly initialized: boolean;
  /** An init container failed and may not restart: the pod is over (reference 2.6.4). */
  readonly failed: boolean;
}

/**
 * Where the init sequence stands (reference 2.6; kubelet: computeInitContainerActions). It is looked at from its end: of containers
 * that completed only the last one may still be known, and everything before it is then known to have been there.
 */
export function planInit(snapshot: Snapshot, pod: Pod): InitPlan {
  const containers = pod.spec.initContainers ?? [];
  if (containers.length === 0) return { needs: [], initialized: true, failed: false };
  const needs = new Map<number, Need>();
  let initialized = mainIsMade(snapshot, pod);
  let passed = initialized;
  for (let index = containers.length - 1; index >= 0; index--) {
    const container = containers[index];
    if (container === undefined) continue;
    const last = incarnations(snapshot.observed, container.name)[0];
    if (last === undefined) {
      if (passed && isSidecar(container)) needs.set(index, startNeed(snapshot, container.name, undefined));
      continue;
    }
    // Once the sequence is past it, a plain one never runs again.
    if (passed && !isSidecar(container)) continue;
    const seen = isSidecar(container)
      ? assessSidecar(snapshot, pod, container, last)
      : assessPlain(snapshot, pod, container, last);
    if (seen.type === 'failed') return { needs: [], initialized: false, failed: true };
    if (seen.need !== undefined) needs.set(index, seen.need);
    const next = containers[index + 1];
    if (seen.passed && next === undefined) initialized = true;
    else if (seen.passed && next !== undefined && !passed)
      needs.set(index + 1, startNeed(snapshot, next.name, incarnations(snapshot.observed, next.name)[0]));
    passed = true;
  }
  const [first] = containers;
  if (!passed && first !== undefined) needs.set(0, startNeed(snapshot, first.name, undefined));
  const ordered = [...needs].sort(([a], [b]) => a - b).map(([, need]) => need);
  return { needs: ordered, initialized, failed: false };
}

type Seen =
  | { readonly type: 'failed' }
  /** `passed`: the next one in the sequence may start. */
  | { readonly type: 'seen'; readonly need?: Need; readonly passed: boolean };

function assessSidecar(snapshot: Snapshot, pod: Pod, container: Container, last: ObservedContainer): Seen {
  const stop = (): Need | undefined =>
    assessRunning(snapshot, pod, container, last, `Init container ${container.name}`);
  switch (last.state.status) {
    case 'running': {
      const need = stop();
      return {
        type: 'seen',
        ...(need !== undefined && { need }),
        passed: snapshot.started.has(stopKey(last.name, last.attempt)),
      };
    }
    case 'unknown': {
      const need = stop();
      return { type: 'seen', ...(need !== undefined && { need }), passed: false };
    }
    case 'waiting':
      return { type: 'seen', passed: false };
    default:
      return { type: 'seen', need: startNeed(snapshot, container.name, last), passed: false };
  }
}

function assessPlain(snapshot: Snapshot, pod: Pod, container: Container, last: ObservedContainer): Seen {
  const { state } = last;
  switch (state.status) {
    case 'running':
    case 'waiting':
    case 'unknown':
      return { type: 'seen', passed: false };
    case 'created':
      return { type: 'seen', need: startNeed(snapshot, container.name, last), passed: false };
    case 'exited':
      // One that the kernel killed has failed, whatever it says (reference 2.6.1).
      if (state.exitCode === 0 && !state.oomKilled) return { type: 'seen', passed: true };
      if (!shouldRestart(pod, container, state.exitCode)) return { type: 'failed' };
      return { type: 'seen', need: startNeed(snapshot, container.name, last), passed: false };
  }
}

/** A main container exists, so the sequence is over. One that has ended says nothing: it may be of the sandbox before. */
function mainIsMade({ observed }: Snapshot, pod: Pod): boolean {
  return pod.spec.containers.some(({ name }) => {
    const status = incarnations(observed, name)[0]?.state.status;
    return status === 'running' || status === 'created';
  });
}
