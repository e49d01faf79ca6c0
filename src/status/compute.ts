import type { ObservedPod } from '../../providers/contract/index.ts';
import type { Rejection } from '../model/intent.ts';
import { isTerminalPhase, type Pod, type PodStatus, toTime } from '../model/pod.ts';
import { formatQuantity } from '../model/quantity.ts';
import { effectiveLimits, effectiveRequests, qosClass, type ResourceList } from '../model/resources.ts';
import { computeAddresses } from './addresses.ts';
import { computeConditions, foreignConditions } from './conditions.ts';
import { containerStatuses, type ProbeView, type WaitingReason } from './containers.ts';
import { withLostContainers } from './finish.ts';
import { computePhase, type Phase } from './phase.ts';

export interface StatusInput {
  readonly pod: Pod;
  /** undefined: the backend was asked and has nothing of this pod. */
  readonly observed: ObservedPod | undefined;
  /** The status computed last for this UID, else the API object's: base of everything that must not be lost or move. */
  readonly previous: PodStatus;
  /** Why a container cannot start (ErrImagePull, …) or may not yet (CrashLoopBackOff), by container name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly probes: ProbeView;
  /** undefined until the backend has described itself. */
  readonly host: { readonly hostIPs: readonly string[]; readonly runtimeName: string } | undefined;
  readonly nowMs: number;
  /** The pod is being stopped: nothing will be started any more. */
  readonly terminating: boolean;
  /** All containers are stopped and the sandbox is down. Before that a terminal phase is withheld (reference 1.10). */
  readonly finished: boolean;
  readonly rejection?: Rejection | undefined;
  /** Ends the pod as Failed with these words (activeDeadlineSeconds, eviction). */
  readonly override?: { readonly reason: string; readonly message: string } | undefined;
}

/** The whole status of a pod, as the kubelet would write it. Fields that others own are taken over from the API object. */
export function computeStatus(input: StatusInput): PodStatus {
  const { pod, previous, nowMs } = input;
  const common = {
    ...othersFields(pod),
    ...observedGeneration(pod, previous),
    startTime: previous.startTime ?? pod.status?.startTime ?? toTime(nowMs),
    qosClass: qosClass(pod),
  };
  return { ...common, ...(input.rejection === undefined ? ranStatus(input) : rejectedStatus(pod, input.rejection)) };
}

/** Nothing but the refusal and what others wrote is left (reference 6.3). */
function rejectedStatus(pod: Pod, { reason, message }: Rejection): PodStatus {
  const conditions = foreignConditions(pod);
  return {
    phase: 'Failed',
    reason,
    message: `Pod was rejected: ${message}`,
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

function ranStatus(input: StatusInput): PodStatus {
  const { pod, observed, previous, terminating, finished } = input;
  const runtimeName = input.host?.runtimeName ?? runtimeOf(previous) ?? 'unknown';
  const statuses = containerStatuses({ ...input, terminating: terminating || finished, runtimeName });
  const view = { init: statuses.initContainerStatuses ?? [], main: statuses.containerStatuses ?? [] };
  const names = new Set(pod.spec.containers.map(({ name }) => name));
  const anyMainSeen = observed?.containers.some(({ name }) => names.has(name)) ?? false;
  const outcome = settle(input, computePhase({ pod, ...view, finished, anyMainSeen }));
  const shown = finished ? ended(outcome) : withheld(outcome, pod, previous);
  return {
    ...computeAddresses(pod, observed, previous, input.host?.hostIPs),
    ...podResources(pod),
    ...(finished ? withLostContainers(pod, statuses) : statuses),
    ...shown,
    conditions: computeConditions({
      pod,
      observed,
      previous,
      ...view,
      phase: outcome.phase,
      ...(finished ? { endsAs: shown.phase } : {}),
      now: toTime(input.nowMs),
    }),
  };
}

interface Outcome {
  readonly phase: Phase;
  readonly reason?: string;
  readonly message?: string;
}

/** A terminal phase is never left, an override beats what was computed, and words stay with the phase they came with (reference 1.1). */
function settle({ pod, previous, override }: StatusInput, computed: Phase): Outcome {
  const final = [pod.status?.phase, previous.phase].find(isTerminalPhase);
  if (final === undefined && override !== undefined) return { phase: 'Failed', ...override };
  const phase = final === undefined ? computed : toPhase(final);
  return { phase, ...words(phase, previous, pod.status) };
}

/** A pod that stops before its containers have an outcome has failed (reference 1.10.2). */
function ended(next: Outcome): Outcome {
  return isTerminalPhase(next.phase) ? next : { ...next, phase: 'Failed' };
}

/** While something may still run, the API must not see the pod as ended (reference 1.10.1). */
function withheld(next: Outcome, pod: Pod, previous: PodStatus): Outcome {
  const shown = toPhase(previous.phase ?? pod.status?.phase);
  if (!isTerminalPhase(next.phase) || isTerminalPhase(shown) || isTerminalPhase(pod.status?.phase)) return next;
  return { phase: shown, ...words(shown, previous, pod.status) };
}

/** Reason and message stay with the phase that they came with. */
function words(phase: Phase, ...sources: readonly (PodStatus | undefined)[]): Omit<Outcome, 'phase'> {
  const same = sources.filter((status) => status?.phase === phase);
  const reason = same.find((status) => status?.reason)?.reason;
  const message = same.find((status) => status?.message)?.message;
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

/** `Unknown` is written by nobody any more; a pod without a phase is Pending. */
function toPhase(phase: string | undefined): Phase {
  return phase === 'Running' || phase === 'Succeeded' || phase === 'Failed' ? phase : 'Pending';
}

/** Written by the scheduler and the resource claim controller; a status without them would remove them (reference 1.6). */
function othersFields({ status }: Pod): PodStatus {
  if (status === undefined) return {};
  const { nominatedNodeName, resourceClaimStatuses } = status;
  const { extendedResourceClaimStatus, nodeAllocatableResourceClaimStatuses } = status;
  return {
    ...(nominatedNodeName === undefined ? {} : { nominatedNodeName }),
    ...(resourceClaimStatuses === undefined ? {} : { resourceClaimStatuses }),
    ...(extendedResourceClaimStatus === undefined ? {} : { extendedResourceClaimStatus }),
    ...(nodeAllocatableResourceClaimStatuses === undefined ? {} : { nodeAllocatableResourceClaimStatuses }),
  };
}

/** Never goes backwards (reference 1.3); absent on API servers that do not count generations of pods. */
function observedGeneration({ metadata }: Pod, previous: PodStatus): Pick<PodStatus, 'observedGeneration'> {
  const generation = Math.max(metadata.generation ?? 0, previous.observedGeneration ?? 0);
  return generation === 0 ? {} : { observedGeneration: generation };
}

/**
 * What the pod as a whole asks for (reference 1.6). The kubelet also writes `resources: {}` for a pod that asks for nothing;
 * left out here, as API servers before 1.35 would drop it and the comparison with theirs would never settle.
 */
function podResources(pod: Pod): Pick<PodStatus, 'resources' | 'allocatedResources'> {
  const requests = toTexts(effectiveRequests(pod));
  const limits = toTexts(effectiveLimits(pod));
  const resources = {
    ...(limits === undefined ? {} : { limits }),
    ...(requests === undefined ? {} : { requests }),
  };
  return {
    ...(Object.keys(resources).length === 0 ? {} : { resources }),
    ...(requests === undefined ? {} : { allocatedResources: requests }),
  };
}

function toTexts(list: ResourceList): Record<string, string> | undefined {
  if (list.size === 0) return undefined;
  return Object.fromEntries([...list].map(([name, quantity]) => [name, formatQuantity(quantity)]));
}

/** Scheme of the container ids that are already written. */
function runtimeOf({ containerStatuses = [], initContainerStatuses = [] }: PodStatus): string | undefined {
  const id = [...initContainerStatuses, ...containerStatuses].find(({ containerID }) => containerID)?.containerID;
  return id?.slice(0, id.indexOf('://'));
}
