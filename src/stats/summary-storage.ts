import type { DiskUsage, FileSystemUsage } from '../../providers/contract/index.ts';
import { toTime } from '../model/pod.ts';
import { defined } from './defined.ts';
import { sumKnown } from './totals.ts';
import type { ContainerView, PodView, StatsView, VolumeView } from './view.ts';

/** The parts of the summary that are about disks. Pure. */

/** What lies on a file system beside what that file system has. */
export function fsStats(
  time: string,
  fs: FileSystemUsage | undefined,
  used: DiskUsage | undefined = fs,
): Readonly<Record<string, unknown>> {
  return defined({
    time,
    availableBytes: fs?.availableBytes,
    capacityBytes: fs?.capacityBytes,
    usedBytes: used?.usedBytes,
    inodesFree: fs?.inodesFree,
    inodes: fs?.inodes,
    inodesUsed: used?.inodesUsed,
  });
}

/** Images' bytes, not those of the file system; what containers wrote is told as theirs. */
export function runtimeFs({ host, storage }: StatsView): object | undefined {
  const { image, container } = host?.fileSystems ?? {};
  if (host === undefined || (image === undefined && container === undefined)) return undefined;
  const time = toTime(host.timeMs);
  const images: DiskUsage = storage?.imageBytes === undefined ? {} : { usedBytes: storage.imageBytes };
  return defined({
    imageFs: image === undefined ? undefined : fsStats(time, image, images),
    containerFs:
      container === undefined ? undefined : fsStats(time, container, container.id === image?.id ? images : {}),
  });
}

interface PodStorageStats {
  /** One for each container of the view, in its order. */
  readonly containers: readonly object[];
  readonly volume?: readonly object[];
  readonly 'ephemeral-storage'?: object;
}

export function podStorage(pod: PodView, view: StatsView): PodStorageStats {
  const { storage, host } = view;
  if (storage === undefined) return { containers: pod.containers.map(() => ({})) };
  const time = toTime(storage.timeMs);
  const nodeFs = host?.fileSystems?.node;
  const ephemeral = ephemeralUsage(pod);
  return {
    containers: pod.containers.map((container) => containerStorage(container, view, time)),
    ...(pod.volumes.length === 0 ? {} : { volume: pod.volumes.map((volume) => volumeStats(volume, pod, view, time)) }),
    ...(ephemeral === undefined ? {} : { 'ephemeral-storage': fsStats(time, nodeFs, ephemeral) }),
  };
}

function containerStorage({ storage }: ContainerView, { host }: StatsView, time: string): object {
  const { container, node } = host?.fileSystems ?? {};
  return defined({
    rootfs: storage?.rootfs === undefined ? undefined : fsStats(time, container, storage.rootfs),
    logs: storage?.logs === undefined ? undefined : fsStats(time, node, storage.logs),
  });
}

/** A claim lies on a disk of its own, of which we know nothing. */
function volumeStats(volume: VolumeView, pod: PodView, { host }: StatsView, time: string): object {
  const { name, claim, local } = volume;
  return {
    ...fsStats(time, local ? host?.fileSystems?.node : undefined, volume),
    name,
    ...(claim === undefined ? {} : { pvcRef: { name: claim, namespace: pod.pod.namespace } }),
  };
}

/** Written layers, logs and local volumes together: what an ephemeral-storage limit is about (reference 7.6). */
function ephemeralUsage(pod: PodView): DiskUsage | undefined {
  const parts: readonly (DiskUsage | undefined)[] = [
    ...pod.containers.flatMap(({ storage }) => [storage?.rootfs, storage?.logs]),
    ...pod.volumes.filter(({ local }) => local),
  ];
  const usedBytes = sumKnown(parts.map((part) => part?.usedBytes));
  const inodesUsed = sumKnown(parts.map((part) => part?.inodesUsed));
  if (usedBytes === undefined && inodesUsed === undefined) return undefined;
  return {
    ...(usedBytes === undefined ? {} : { usedBytes }),
    ...(inodesUsed === undefined ? {} : { inodesUsed }),
  };
}
