import type { Node } from '../model/pod.ts';
import type { NodeCondition } from './conditions.ts';
import type { NodeEvent } from './ports.ts';

const WORDS: Readonly<Record<string, readonly [whenTrue: string, whenFalse: string]>> = {
  MemoryPressure: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  DiskPressure: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  PIDPressure: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
  Ready: ['NodeReady', 'NodeNotReady'],
};

export const STARTING: NodeEvent = { type: 'Normal', reason: 'Starting', message: 'Starting kubelet.' };

/**
 * One event per condition of ours that changed (reference 3.4). `first` is the first status of this process: pressure then always
 * counts as changed, as it does for a kubelet that starts. A Ready that never was True is no news when False.
 */
export function conditionEvents(
  name: string,
  previous: readonly NodeCondition[],
  next: readonly NodeCondition[],
  first: boolean,
): NodeEvent[] {
  return next.flatMap(({ type, status }) => {
    const words = WORDS[type];
    const before = previous.find((candidate) => candidate.type === type)?.status;
    if (words === undefined) return [];
    const news =
      type === 'Ready' ? status !== before && (before !== undefined || status === 'True') : status !== before || first;
    return news ? [nodeEvent(name, status === 'True' ? words[0] : words[1])] : [];
  });
}

/** A new boot id is the only trace that a reboot leaves. */
export function rebootEvent(name: string, previous: Node | undefined, bootId: string | undefined): NodeEvent[] {
  const before = previous?.status?.nodeInfo?.bootID ?? '';
  if (before === '' || bootId === undefined || bootId === '' || before === bootId) return [];
  const message = `Node ${name} has been rebooted, boot id: ${bootId}`;
  return [{ type: 'Warning', reason: 'Rebooted', message }];
}

export function schedulableEvent(name: string, unschedulable: boolean): NodeEvent {
  return nodeEvent(name, unschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable');
}

function nodeEvent(name: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${name} status is now: ${reason}` };
}
