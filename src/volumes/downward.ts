import type { Pod } from '../model/pod.ts';
import { metadataField } from '../spec/field-path.ts';
import {
  type Allocatable,
  defaultLimits,
  type ResourceFieldSelector,
  resourceField,
  selectedContainer,
} from '../spec/resource-field.ts';
import { throwTogether } from './failures.ts';
import type { Payload, PayloadFile } from './payload.ts';

export interface DownwardItem {
  readonly path: string;
  readonly mode?: number;
  readonly fieldRef?: { readonly fieldPath: string };
  readonly resourceFieldRef?: ResourceFieldSelector;
}

export interface DownwardInput {
  readonly pod: Pod;
  readonly allocatable: Allocatable | undefined;
  /** Clock milliseconds at which this process first saw the pod. */
  readonly seenMs: number | undefined;
}

/** Files from the pod's own metadata and resources; labels and annotations follow their changes (reference 9.4). */
export function downwardPayload(input: DownwardInput, items: readonly DownwardItem[], defaultMode: number): Payload {
  const pod = withSource(input.pod, input.seenMs);
  const payload = new Map<string, PayloadFile>();
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      payload.set(item.path, {
        mode: item.mode ?? defaultMode,
        data: Buffer.from(textOf(item, pod, input.allocatable), 'utf8'),
      });
    } catch (error: unknown) {
      failures.push(error);
    }
  }
  throwTogether(failures);
  return payload;
}

function textOf(
  { fieldRef, resourceFieldRef, path }: DownwardItem,
  pod: Pod,
  allocatable: Allocatable | undefined,
): string {
  if (resourceFieldRef !== undefined) {
    const container = selectedContainer(pod, resourceFieldRef.containerName ?? '');
    return resourceField(resourceFieldRef, container, allocatable && defaultLimits(pod, allocatable));
  }
  const text = fieldRef === undefined ? undefined : metadataField(pod, fieldRef.fieldPath);
  if (text === undefined) throw new Error(`unsupported fieldPath: ${fieldRef?.fieldPath ?? path}`);
  return text;
}

/** A kubelet notes on its own copy of a pod when and where it came from, and that shows in these files (config.go). */
function withSource(pod: Pod, seenMs: number | undefined): Pod {
  if (seenMs === undefined) return pod;
  const annotations = {
    ...pod.metadata.annotations,
    'kubernetes.io/config.seen': new Date(seenMs).toISOString(),
    'kubernetes.io/config.source': 'api',
  };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

/** Whether a volume of the pod may read differently now: it shows labels, annotations or resources, and they have changed. */
export function changesDownward(before: Pod, after: Pod): boolean {
  const volumes = after.spec.volumes ?? [];
  const shows = volumes.some(
    ({ downwardAPI, projected }) =>
      downwardAPI !== undefined || projected?.sources?.some((source) => source.downwardAPI !== undefined) === true,
  );
  return shows && JSON.stringify(shownBy(before)) !== JSON.stringify(shownBy(after));
}

function shownBy({ metadata, spec }: Pod): unknown {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return [metadata.labels, metadata.annotations, spec.resources, containers.map(({ resources }) => resources)];
}
