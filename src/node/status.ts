import { isDeepStrictEqual } from 'node:util';
import type { HostReport } from '../../providers/contract/index.ts';
import type { NodeStatus } from '../kube/nodes.ts';
import type { Node } from '../model/pod.ts';
import { isRecord } from '../util/is-record.ts';
import { nodeConditions, sameConditions } from './conditions.ts';
import {
  addresses,
  allocatable,
  capacity,
  type ListedImage,
  nodeImages,
  nodeInfo,
  type ReportSettings,
} from './report.ts';

export interface StatusInput {
  readonly settings: ReportSettings;
  readonly productVersion: string;
  readonly kubeletPort: number;
  readonly maxImages: number;
  /** Undefined until the backend has answered once: what it would say is left as it is. */
  readonly host: HostReport | undefined;
  /** Undefined where the backend lists none. */
  readonly images: readonly ListedImage[] | undefined;
  readonly declaredFeatures: readonly string[];
  readonly problems: readonly string[];
  readonly now: number;
}

/** Our fields of the status, from what is there (reference 5.3). */
export function nodeStatus(existing: Node | undefined, input: StatusInput): NodeStatus {
  const { settings, host, images } = input;
  const own = addresses(settings, host);
  const total = host && capacity(host, settings, existing?.status?.capacity);
  return {
    ...(own !== undefined && { addresses: own }),
    ...(total !== undefined && { capacity: { ...total }, allocatable: { ...allocatable(total, settings) } }),
    ...(host !== undefined && { nodeInfo: nodeInfo(host, input.productVersion) }),
    daemonEndpoints: { kubeletEndpoint: { Port: input.kubeletPort } },
    ...(images !== undefined && { images: nodeImages(images, input.maxImages) }),
    declaredFeatures: [...input.declaredFeatures],
    conditions: nodeConditions(existing?.status?.conditions ?? [], input.problems, input.now),
  };
}

/** The fields that differ from what the API server has, heartbeat times aside; undefined when none does. */
export function changedStatus(existing: Node, next: NodeStatus): NodeStatus | undefined {
  const before = existing.status ?? {};
  const { conditions = [], ...fields } = next;
  const changed = Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !covers(Reflect.get(before, name), value)),
  );
  if (Object.keys(changed).length === 0 && sameConditions(before.conditions ?? [], conditions)) return undefined;
  return { ...changed, conditions };
}

/** Lists equal as a whole, objects in the keys that are ours: the server may hold more (nodeInfo.swap). */
function covers(before: unknown, next: unknown): boolean {
  if (Array.isArray(next) || !isRecord(next)) return isDeepStrictEqual(before ?? [], next);
  return isRecord(before) && Object.entries(next).every(([key, value]) => covers(before[key], value));
}
