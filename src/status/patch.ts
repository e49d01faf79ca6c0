import type { PodCondition, PodStatus } from '../model/pod.ts';
import { isRecord } from '../util/is-record.ts';
import { OWN_CONDITIONS } from './conditions.ts';

/** Shared with the eviction API and the scheduler: only the kubelet's own word is ours, and it is never taken back. */
const isOwnDisruption = (condition: PodCondition): boolean =>
  condition.type === 'DisruptionTarget' && condition.reason === 'TerminationByKubelet';

/** Replaced or merged as JSON; container lists are atomic in a strategic merge patch (reference 1.8). */
const OWN_FIELDS = [
  'observedGeneration',
  'phase',
  'message',
  'reason',
  'startTime',
  'hostIP',
  'podIP',
  'qosClass',
  'containerStatuses',
  'initContainerStatuses',
  'ephemeralContainerStatuses',
  'resources',
  'allocatedResources',
] as const satisfies readonly (keyof PodStatus)[];

/** Set once; a status that lacks them does not mean to remove them (the API server refuses that for some). */
const NEVER_REMOVED: ReadonlySet<string> = new Set(['startTime', 'qosClass', 'observedGeneration']);

/** Lists that merge by `ip`. */
const IP_LISTS = ['hostIPs', 'podIPs'] as const satisfies readonly (keyof PodStatus)[];

export type StatusPatch = Record<string, unknown>;

/**
 * The strategic merge patch that turns our fields of `api` (what the API server holds) into those of `wanted`;
 * undefined when they are equal already.
 */
export function statusPatch(api: PodStatus, wanted: PodStatus): StatusPatch | undefined {
  const patch: StatusPatch = {};
  for (const field of OWN_FIELDS) {
    if (isEmpty(wanted[field]) && NEVER_REMOVED.has(field)) continue;
    const change = difference(api[field], wanted[field]);
    if (change !== undefined) patch[field] = change;
  }
  for (const field of IP_LISTS) Object.assign(patch, ipListPatch(field, api[field] ?? [], wanted[field] ?? []));
  Object.assign(patch, conditionsPatch(api.conditions ?? [], wanted.conditions ?? []));
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function conditionsPatch(api: readonly PodCondition[], wanted: readonly PodCondition[]): StatusPatch {
  const own = wanted.filter((condition) => OWN_CONDITIONS.has(condition.type) || isOwnDisruption(condition));
  const types = new Set(own.map((condition) => condition.type));
  const items: object[] = [];
  for (const condition of own) {
    const before = api.find((other) => other.type === condition.type);
    const change = difference(before ?? {}, condition);
    // A change of fields alone: the merge keeps the others, so that a removed message must be named (null).
    if (change !== undefined) items.push({ ...Object(change), type: condition.type });
  }
  for (const { type } of api) {
    if (OWN_CONDITIONS.has(type) && !types.has(type)) items.push({ $patch: 'delete', type });
  }
  if (items.length === 0) return {};
  return { conditions: items, '$setElementOrder/conditions': own.map(({ type }) => ({ type })) };
}

function ipListPatch(
  field: string,
  api: readonly { readonly ip?: string }[],
  wanted: readonly { readonly ip?: string }[],
): StatusPatch {
  const before = api.map(({ ip }) => ip);
  const after = wanted.map(({ ip }) => ip);
  if (before.join() === after.join()) return {};
  const items = [
    ...after.filter((ip) => !before.includes(ip)).map((ip) => ({ ip })),
    ...before.filter((ip) => !after.includes(ip)).map((ip) => ({ $patch: 'delete', ip })),
  ];
  return {
    ...(items.length === 0 ? {} : { [field]: items }),
    [`$setElementOrder/${field}`]: after.map((ip) => ({ ip })),
  };
}

/** JSON merge difference: objects by key, everything else as a whole; `null` removes, undefined means equal. */
function difference(from: unknown, to: unknown): unknown {
  if (same(from, to)) return undefined;
  if (isEmpty(to)) return null;
  if (!isRecord(from) || !isRecord(to)) return to;
  const changes: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const change = difference(from[key], to[key]);
    if (change !== undefined) changes[key] = change;
  }
  return changes;
}

/** Equal as the API server sees it: it leaves out empty texts and lists, and writes an empty `lastState` always. */
function same(a: unknown, b: unknown): boolean {
  if (a === b || (isEmpty(a) && isEmpty(b))) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => same(item, b[index]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (same(a[key], b[key])) continue;
    if (key === 'lastState' && isBlank(a[key]) && isBlank(b[key])) continue;
    return false;
  }
  return true;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

function isBlank(value: unknown): boolean {
  return isEmpty(value) || (isRecord(value) && Object.keys(value).length === 0);
}
