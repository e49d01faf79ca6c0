import type { ObservedPod } from '../../providers/contract/index.ts';
import {
  type Container,
  type ContainerStatus,
  isTerminalPhase,
  NO_TIME,
  type Pod,
  type PodCondition,
  type PodStatus,
} from '../model/pod.ts';
import { isSidecar } from '../model/restart.ts';
import type { Phase } from './phase.ts';

/** Types that only the kubelet writes (reference 1.2). Every other one belongs to somebody else and is copied through. */
export const OWN_CONDITIONS: ReadonlySet<string> = new Set([
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodResizeInProgress',
  'PodResizePending',
  'PodReadyToStartContainers',
  'AllContainersRestarting',
]);

export interface ConditionsInput {
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
  readonly previous: PodStatus;
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
  /** What the containers amount to. */
  readonly phase: Phase;
  /** What the pod is shown as, once it has ended. */
  readonly endsAs?: Phase;
  /** Time of a transition that happens now. */
  readonly now: string;
}

/** What a rule says of a condition; time and generation are added by the caller. */
interface Verdict {
  readonly status: 'True' | 'False';
  readonly reason?: string;
  readonly message?: string;
}

const TRUE: Verdict = { status: 'True' };

/** The conditions in the order in which the kubelet builds them (reference 1.2). */
export function computeConditions(input: ConditionsInput): PodCondition[] {
  const foreign = foreignConditions(input.pod);
  let containersReady = judgeContainersReady(input);
  let ready = judgeReady(input.pod, foreign, containersReady);
  // A pod that has ended is never shown ready, whatever its containers looked like at that moment (mergePodStatus).
  if (input.endsAs !== undefined && containersReady.status === 'True') {
    containersReady = judgeEnded(input.endsAs);
    ready = containersReady;
  }
  const verdicts: readonly (readonly [string, Verdict])[] = [
    ['PodReadyToStartContainers', judgeSandbox(input)],
    ['Initialized', judgeInitialized(input)],
    ['Ready', ready],
    ['ContainersReady', containersReady],
    ['PodScheduled', TRUE],
  ];
  return [...foreign, ...verdicts.map(([type, verdict]) => toCondition(input, type, settled(input, type) ?? verdict))];
}

/**
 * The kubelet judges a pod no more once it has ended, and a deleted pod that never started ends with the words it had before
 * (TerminatePod). What the sandbox does is still seen.
 */
function settled({ previous }: ConditionsInput, type: string): Verdict | undefined {
  if (!isTerminalPhase(previous.phase) || type === 'PodReadyToStartContainers') return undefined;
  const before = previous.conditions?.find((condition) => condition.type === type);
  if (before === undefined || (isReadiness(type) && before.status !== 'False')) return undefined;
  return {
    status: before.status === 'True' ? 'True' : 'False',
    ...(before.reason === undefined ? {} : { reason: before.reason }),
    ...(before.message === undefined ? {} : { message: before.message }),
  };
}

function isReadiness(type: string): boolean {
  return type === 'Ready' || type === 'ContainersReady';
}

export function foreignConditions(pod: Pod): PodCondition[] {
  return (pod.status?.conditions ?? []).filter(({ type }) => !OWN_CONDITIONS.has(type));
}

/** The time moves with the status alone, not with reason or message (reference 1.3). */
function toCondition({ pod, previous, now }: ConditionsInput, type: string, verdict: Verdict): PodCondition {
  const before = [previous.conditions, pod.status?.conditions]
    .map((conditions) => conditions?.find((condition) => condition.type === type))
    .find((condition) => condition !== undefined);
  const kept = before?.status === verdict.status ? before.lastTransitionTime : undefined;
  const { generation } = pod.metadata;
  return {
    type,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    status: verdict.status,
    lastProbeTime: NO_TIME,
    lastTransitionTime: kept ?? now,
    ...(verdict.reason === undefined ? {} : { reason: verdict.reason }),
    ...(verdict.message === undefined ? {} : { message: verdict.message }),
  };
}

function judgeSandbox({ pod, observed }: ConditionsInput): Verdict {
  const up = observed?.state === 'ready' && (pod.spec.hostNetwork === true || observed.ips.length > 0);
  return { status: up ? 'True' : 'False' };
}

function judgeInitialized({ pod, previous, init, main, phase }: ConditionsInput): Verdict {
  const { unknown, unmet } = sortOut(pod.spec.initContainers ?? [], init, (container, status) =>
    isSidecar(container) ? status.started === true : status.ready,
  );
  if (phase === 'Succeeded' && unknown.length === 0) return { status: 'True', reason: 'PodCompleted' };
  // Init containers that come again (a sidecar restarting) do not undo the initialization.
  if (main.some(({ state }) => state?.running !== undefined || state?.terminated !== undefined)) return TRUE;
  const message = describe(unknown, 'incomplete', unmet);
  if (message === '') return TRUE;
  const before = previous.conditions?.find(({ type }) => type === 'Initialized');
  return before?.status === 'True' ? TRUE : { status: 'False', reason: 'ContainersNotInitialized', message };
}

function judgeContainersReady({ pod, init, main, phase }: ConditionsInput): Verdict {
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
  const { unknown, unmet } = sortOut(
    [...sidecars, ...pod.spec.containers],
    [...init, ...main],
    (_, status) => status.ready,
  );
  if (phase === 'Failed' || (phase === 'Succeeded' && unknown.length === 0)) return judgeEnded(phase);
  const message = describe(unknown, 'unready', unmet);
  return message === '' ? TRUE : { status: 'False', reason: 'ContainersNotReady', message };
}

function judgeEnded(phase: Phase): Verdict {
  return { status: 'False', reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed' };
}

function judgeReady(pod: Pod, foreign: readonly PodCondition[], containersReady: Verdict): Verdict {
  if (containersReady.status === 'False') return containersReady;
  const messages = (pod.spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = foreign.find(({ type }) => type === conditionType);
    if (gate === undefined) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    if (gate.status === 'True') return [];
    return [`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`];
  });
  if (messages.length === 0) return TRUE;
  return { status: 'False', reason: 'ReadinessGatesNotReady', message: messages.join(', ') };
}

function sortOut(
  containers: readonly Container[],
  statuses: readonly ContainerStatus[],
  met: (container: Container, status: ContainerStatus) => boolean,
): { readonly unknown: readonly string[]; readonly unmet: readonly string[] } {
  const unknown: string[] = [];
  const unmet: string[] = [];
  for (const container of containers) {
    const status = statuses.find(({ name }) => name === container.name);
    if (status === undefined) unknown.push(container.name);
    else if (!met(container, status)) unmet.push(container.name);
  }
  return { unknown, unmet };
}

/** Go prints a slice as `[a b]` (reference 1.2). */
function describe(unknown: readonly string[], word: 'incomplete' | 'unready', unmet: readonly string[]): string {
  const parts = [
    ...(unknown.length === 0 ? [] : [`containers with unknown status: [${unknown.join(' ')}]`]),
    ...(unmet.length === 0 ? [] : [`containers with ${word} status: [${unmet.join(' ')}]`]),
  ];
  return parts.join(', ');
}
