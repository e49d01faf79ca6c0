import type { ObservedContainer, ObservedPod } from '../../../providers/contract/index.ts';
import { findContainer } from '../../model/containers.ts';
import type { Container, Pod } from '../../model/pod.ts';
import type { Action, Plan } from './actions.ts';
import { type Snapshot, stopKey } from './snapshot.ts';

/** What a backend lets us read of a container that has ended. */
export interface MessageSources {
  readonly files: boolean;
  readonly logs: boolean;
}

type Planner = (snapshot: Snapshot) => Plan;

/**
 * A plan that reads the last words of ended containers before it does anything else (reference 1.7): the status then tells an end
 * together with its message, and whatever the messages lie in is still there.
 */
export function withMessages(plan: Planner, sources: MessageSources): Planner {
  return (snapshot) => {
    const actions = unread(snapshot, sources).map(
      ({ name, attempt }): Action => ({ type: 'readMessage', container: name, attempt }),
    );
    return actions.length > 0 ? { actions } : plan(snapshot);
  };
}

/** Ends whose message nobody has read yet. Not those of pods that have no status to show it in. */
export function unread(
  { pod, stop, observed, memory }: Snapshot,
  sources: MessageSources,
): readonly ObservedContainer[] {
  if (pod === undefined || stop?.type === 'removed') return [];
  return (observed?.containers ?? []).filter(
    (seen) =>
      seen.state.status === 'exited' &&
      !memory.messages.has(stopKey(seen.name, seen.attempt)) &&
      mayHaveWords(pod, seen.name, sources),
  );
}

function mayHaveWords(pod: Pod, name: string, { files, logs }: MessageSources): boolean {
  const container = findContainer(pod, name)?.container;
  if (container === undefined) return false;
  return (files && hasMessageFile(container)) || (logs && fallsBackToLogs(container));
}

export function hasMessageFile({ terminationMessagePath: path }: Container): boolean {
  return path !== undefined && path !== '';
}

export function fallsBackToLogs({ terminationMessagePolicy }: Container): boolean {
  return terminationMessagePolicy === 'FallbackToLogsOnError';
}

/** The pod as it was seen, with what its containers have said; that comes after what the backend itself says of an end. */
export function withWords(
  observed: ObservedPod | undefined,
  messages: ReadonlyMap<string, string>,
): ObservedPod | undefined {
  if (observed === undefined || messages.size === 0) return observed;
  return { ...observed, containers: observed.containers.map((container) => spoken(container, messages)) };
}

function spoken(container: ObservedContainer, messages: ReadonlyMap<string, string>): ObservedContainer {
  const { name, attempt, state } = container;
  const words = messages.get(stopKey(name, attempt)) ?? '';
  if (state.status !== 'exited' || words === '') return container;
  const message = [state.message ?? '', words].filter((text) => text !== '').join(': ');
  return { ...container, state: { ...state, message } };
}

/** One more message; those of incarnations that the backend has forgotten go. */
export function withMessage(
  messages: ReadonlyMap<string, string>,
  key: string,
  message: string,
  observed: ObservedPod | undefined,
): ReadonlyMap<string, string> {
  const present = new Set(observed?.containers.map(({ name, attempt }) => stopKey(name, attempt)));
  return new Map([...[...messages].filter(([other]) => present.has(other)), [key, message]]);
}
