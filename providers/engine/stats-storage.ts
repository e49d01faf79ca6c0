import { readdir, stat } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { CallOptions, ContainerStorage, DiskUsage, PodStorage, PodUid, StorageUsage } from '../contract/index.ts';
import { decodeUnit, hasLabels } from '../shared/unit-labels.ts';
import type { Engine } from './engine.ts';

/** An engine walks every layer and every volume that it has. */
const DISK_USAGE_TIMEOUT_MS = 300_000;

/** The part of the answer that is used; the client library does not type it. */
export interface EngineDiskUsage {
  readonly LayersSize?: number;
  readonly Containers?: readonly Pick<Docker.ContainerInfo, 'Id' | 'Labels'>[] | null;
  readonly Volumes?: readonly Pick<Docker.VolumeInspectInfo, 'Name' | 'Labels' | 'UsageData'>[] | null;
}

/** Bytes of a container's log files, where they can be seen from here. */
export type LogBytes = (containerId: string) => Promise<number | undefined>;

export async function askStorage(engine: Engine, logBytes: LogBytes, { signal }: CallOptions): Promise<StorageUsage> {
  const { calls, docker, context } = engine;
  const usage: EngineDiskUsage = await calls.call(
    'measure its disks',
    { signal, timeoutMs: DISK_USAGE_TIMEOUT_MS },
    (abortSignal) => cancellable(docker).df({ abortSignal }),
  );
  const logs = new Map<string, number>();
  for (const { Id, Labels } of usage.Containers ?? []) {
    if (!hasLabels(Labels, context.ownerLabels)) continue;
    const bytes = await logBytes(Id);
    if (bytes !== undefined) logs.set(Id, bytes);
  }
  return storageUsage(usage, { ownerLabels: context.ownerLabels, logs, nowMs: context.clock.now() });
}

interface Cancellable {
  df(options: { readonly abortSignal: AbortSignal }): Promise<EngineDiskUsage>;
}

function cancellable(docker: Docker): Cancellable {
  // The library takes options here, its types do not know them.
  return docker as unknown as Cancellable;
}

interface Known {
  readonly ownerLabels: Readonly<Record<string, string>>;
  readonly logs: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

/** Pure. */
export function storageUsage(usage: EngineDiskUsage, { ownerLabels, logs, nowMs }: Known): StorageUsage {
  const pods = new Map<PodUid, { pod: PodStorage['pod']; containers: ContainerStorage[]; volumes: Named[] }>();
  const partsOf = (pod: PodStorage['pod']) => {
    const found = pods.get(pod.uid) ?? { pod, containers: [], volumes: [] };
    pods.set(pod.uid, found);
    return found;
  };
  for (const { Id, Labels, ...rest } of usage.Containers ?? []) {
    const unit = hasLabels(Labels, ownerLabels) ? decodeUnit(Labels) : undefined;
    if (unit?.kind !== 'container') continue;
    const logged = logs.get(Id);
    partsOf(unit.pod).containers.push({
      name: unit.container,
      attempt: unit.attempt,
      rootfs: { usedBytes: writtenBytes(rest) },
      ...(logged === undefined ? {} : { logs: { usedBytes: logged } }),
    });
  }
  for (const { Labels, UsageData } of usage.Volumes ?? []) {
    const unit = hasLabels(Labels ?? undefined, ownerLabels) ? decodeUnit(Labels ?? {}) : undefined;
    const size = UsageData?.Size;
    // -1: a driver that cannot tell.
    // Volumes of our own have a dot in front.
    if (unit?.kind !== 'volume' || unit.volume.startsWith('.') || size === undefined || size < 0) continue;
    partsOf(unit.pod).volumes.push({ name: unit.volume, usedBytes: size });
  }
  const { LayersSize } = usage;
  return { timeMs: nowMs, pods: [...pods.values()], ...(LayersSize === undefined ? {} : { imageBytes: LayersSize }) };
}

type Named = DiskUsage & { readonly name: string };

/** The engine leaves a zero out of what it writes. Not in the types: they are of a list without sizes. */
function writtenBytes(container: object): number {
  return 'SizeRw' in container && typeof container.SizeRw === 'number' ? container.SizeRw : 0;
}

/** The current file and those that were rotated, below the directory of an engine on this machine. */
export async function logBytesBelow(rootDirectory: string, containerId: string): Promise<number | undefined> {
  const directory = `${rootDirectory}/containers/${containerId}`;
  try {
    const files = (await readdir(directory)).filter((name) => name.startsWith(`${containerId}-json.log`));
    const sizes = await Promise.all(files.map(async (name) => (await stat(`${directory}/${name}`)).size));
    return sizes.reduce((a, b) => a + b, 0);
  } catch {
    return undefined; // gone, another log driver, or a directory for root alone
  }
}
