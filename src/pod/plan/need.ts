import type { ObservedContainer } from '../../../providers/contract/index.ts';
import { containerStatus } from '../../model/containers.ts';
import type { Container, Pod } from '../../model/pod.ts';
import { restartsOnFailure, shouldRestart } from '../../model/restart.ts';
import type { RestartCause } from './actions.ts';
import { incarnations, mayRun, nextAttempt, type Snapshot, statusOf, stopKey } from './snapshot.ts';
import type { StopCause } from './stop.ts';

/** What one container needs, leaving aside when. */
export type Need =
  | { readonly type: 'keep' }
  /** Runs from an outdated definition, or a probe has given it up: it is stopped, and mostly started anew (reference 0.3, 4.3). */
  | {
      readonly type: 'stop';
      readonly container: ObservedContainer;
      readonly graceSeconds: number;
      readonly cause: StopCause;
      /** It will not start again, whatever its exit. */
      readonly ends: boolean;
    }
  | { readonly type: 'done' }
  | StartNeed;

export interface StartNeed {
  readonly type: 'start';
  readonly container: string;
  readonly attempt: number;
  readonly last: ObservedContainer | undefined;
}

/** A container that is over for good, or will be once it has stopped. */
export function endsWithIt(need: Need): boolean {
  return need.type === 'done' || (need.type === 'stop' && need.ends);
}

/** A main container (reference 2.1, 2.2). */
export function assessMain(snapshot: Snapshot, pod: Pod, container: Container): Need {
  const { name } = container;
  const last = incarnations(snapshot.observed, name)[0];
  if (last === undefined) {
    // Known to have ended before although the backend forgot it: a finished container must not run twice.
    const ended = containerStatus(statusOf(snapshot), name)?.state?.terminated;
    if (ended && !shouldRestart(pod, container, ended.exitCode)) return { type: 'done' };
    return startNeed(snapshot, name, last);
  }
  switch (last.state.status) {
    case 'running':
    case 'waiting':
    case 'unknown':
      if (!mayRun(last)) return { type: 'keep' };
      return assessRunning(snapshot, pod, container, last, `Container ${name}`) ?? { type: 'keep' };
    case 'created':
      return startNeed(snapshot, name, last);
    case 'exited':
      if (restartCause(snapshot, last) === undefined && !shouldRestart(pod, container, last.state.exitCode))
        return { type: 'done' };
      return startNeed(snapshot, name, last);
  }
}

/** A container that was made but not started keeps its number. */
export function startNeed(snapshot: Snapshot, name: string, last: ObservedContainer | undefined): StartNeed {
  const attempt = last?.state.status === 'created' ? last.attempt : nextAttempt(snapshot, name);
  return { type: 'start', container: name, attempt, last };
}

/**
 * Why a running container stops; undefined: it goes on. `who` begins the words of the event: those about sidecars begin with
 * `Init container`, and do not say that it will be restarted (reference 3.3).
 */
export function assessRunning(
  snapshot: Snapshot,
  pod: Pod,
  container: Container,
  last: ObservedContainer,
  who: string,
): Extract<Need, { type: 'stop' }> | undefined {
  const { name } = container;
  const podGrace = pod.spec.terminationGracePeriodSeconds ?? 0;
  // How such a container ends decides about its restart, as for one that ended by itself.
  const unstarted = snapshot.hooks.get(stopKey(name, last.attempt))?.postStart === 'failed';
  const pending = snapshot.memory.stops.get(stopKey(name, last.attempt));
  if (pending !== undefined) {
    // What was begun goes on, also when its reason is gone meanwhile.
    const { graceSeconds, restart } = pending;
    const cause = restart === undefined ? {} : { restart };
    return { type: 'stop', container: last, graceSeconds, cause, ends: restart === undefined && !unstarted };
  }
  if (unstarted) {
    const cause = { why: 'FailedPostStartHook' };
    return { type: 'stop', container: last, graceSeconds: podGrace, cause, ends: false };
  }
  const suffix = who.startsWith('Init') ? '' : ', will be restarted';
  if (snapshot.changed.has(name)) {
    const why = `${who} definition changed${suffix}`;
    return {
      type: 'stop',
      container: last,
      graceSeconds: podGrace,
      cause: { why, restart: { type: 'changed' } },
      ends: false,
    };
  }
  const failure = snapshot.unhealthy.get(stopKey(name, last.attempt));
  if (failure === undefined) return undefined;
  const why = `${who} failed ${failure.probe} probe`;
  const restarts = restartsOnFailure(pod, container);
  const before = incarnations(snapshot.observed, name)[1]?.state;
  const exitBefore = before?.status === 'exited' ? { exitBeforeMs: before.finishedAt.getTime() } : {};
  return {
    type: 'stop',
    container: last,
    graceSeconds: failure.graceSeconds ?? podGrace,
    cause: restarts ? { why: `${why}${suffix}`, restart: { type: 'unhealthy', ...exitBefore } } : { why },
    ends: !restarts,
  };
}

/** We stopped it only to start it again, whatever its policy says about exits. */
function restartCause({ memory }: Snapshot, { name, attempt }: ObservedContainer): RestartCause | undefined {
  return memory.stops.get(stopKey(name, attempt))?.restart;
}
