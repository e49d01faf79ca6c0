import type { HostUsage, NetworkUsage } from '../../providers/contract/index.ts';
import {
  type FileSystemRow,
  PER_DEVICE,
  PER_FILE_SYSTEM,
  PER_INTERFACE,
  PER_TASK,
  type Row,
} from './cadvisor-families.ts';
import { expose, type Family, type Sample } from './exposition.ts';
import type { Measured } from './totals.ts';
import type { ContainerView, PodView, StatsView } from './view.ts';

/**
 * `/metrics/cadvisor` (reference 14.5): one row for each running container, one for each sandbox (which owns the network, and has
 * no container name), one for the machine (`/`). Pods have no row of their own: here they are no control group. Pure.
 */
export function cadvisorMetrics(view: StatsView | undefined): string {
  const error: Family = {
    name: 'container_scrape_error',
    help: '1 if there was an error while getting container metrics, 0 otherwise',
    type: 'gauge',
    samples: [{ labels: {}, value: view === undefined ? 1 : 0 }],
  };
  if (view === undefined) return expose([error]);
  const rows = [...hostRow(view), ...view.pods.flatMap(podRows)];
  return expose([
    ...PER_TASK.map(({ tell, ...family }) => ({ ...family, samples: rows.flatMap(timed(tell)) })),
    ...PER_DEVICE.map(({ tell, ...family }) => ({ ...family, samples: rows.flatMap(timed(tell)) })),
    ...PER_INTERFACE.map(({ tell, ...family }) => ({ ...family, samples: rows.flatMap(interfaces(tell)) })),
    ...PER_FILE_SYSTEM.map(({ tell, ...family }) => ({ ...family, samples: fileSystems(view).flatMap(tell) })),
    startTimes(rows),
    ...machine(view.host),
    error,
  ]);
}

type Told = Omit<Sample, 'timeMs'>;

function timed(tell: (row: Row) => readonly Told[]): (row: Row) => Sample[] {
  return (row) => tell(row).map((sample) => ({ ...sample, timeMs: row.task.timeMs }));
}

function interfaces(
  tell: (usage: NetworkUsage['interfaces'][number]) => number | undefined,
): (row: Row) => readonly Sample[] {
  return ({ labels, network }) =>
    (network?.interfaces ?? []).flatMap((usage) => {
      const value = tell(usage);
      const timeMs = network?.timeMs;
      if (value === undefined || timeMs === undefined) return [];
      return [{ labels: { ...labels, interface: usage.name }, value, timeMs }];
    });
}

/** Every family of a page has the same labels, empty where there is nothing to say. */
function labels(id: string, name = '', image = '', pod?: PodView['pod'], container = ''): Row['labels'] {
  return { id, name, image, pod: pod?.name ?? '', namespace: pod?.namespace ?? '', container };
}

function hostRow({ host }: StatsView): readonly Row[] {
  if (host === undefined) return [];
  const { network, bootedAt } = host;
  return [
    {
      labels: labels('/'),
      task: host,
      ...(network === undefined ? {} : { network }),
      ...(bootedAt === undefined ? {} : { startedMs: bootedAt.getTime() }),
    },
  ];
}

function podRows({ pod, containers, sandbox, total, network, createdMs }: PodView): readonly Row[] {
  const rows: Row[] = containers.map((container) => ({
    labels: containerLabels(pod, container),
    task: container.task,
    startedMs: container.startedMs,
  }));
  const own = sandboxRow(pod, sandbox, total);
  if (own !== undefined) rows.push({ ...own, startedMs: createdMs, ...(network === undefined ? {} : { network }) });
  return rows;
}

/** A pod without a process that holds its network still has one to tell of. */
function sandboxRow(pod: PodView['pod'], sandbox: PodView['sandbox'], total: Measured | undefined): Row | undefined {
  if (sandbox !== undefined)
    return { labels: labels(sandbox.task.cgroup ?? sandbox.id, sandbox.id, sandbox.image, pod), task: sandbox.task };
  return total === undefined
    ? undefined
    : { labels: labels(pod.uid, '', '', pod), task: { timeMs: total.task.timeMs } };
}

function startTimes(rows: readonly Row[]): Family {
  return {
    name: 'container_start_time_seconds',
    help: 'Start time of the container since unix epoch in seconds.',
    type: 'gauge',
    samples: rows.flatMap((row) =>
      row.startedMs === undefined ? [] : [{ labels: row.labels, value: Math.floor(row.startedMs / 1000) }],
    ),
  };
}

/** The machine's file systems, and what each container wrote to one of them. */
function fileSystems({ host, storage, pods }: StatsView): readonly FileSystemRow[] {
  const { node, image, container } = host?.fileSystems ?? {};
  const distinct = new Map([node, image, container].flatMap((fs) => (fs === undefined ? [] : [[fs.id, fs] as const])));
  const whole = [...distinct.values()].map((fs) => ({ labels: labels('/'), fs, timeMs: host?.timeMs ?? 0 }));
  if (storage === undefined) return whole;
  const id = container?.id ?? '';
  const limit = container?.capacityBytes === undefined ? {} : { capacityBytes: container.capacityBytes };
  const written = pods.flatMap(({ pod, containers }) =>
    containers.flatMap((own) => {
      const usedBytes = own.storage?.rootfs?.usedBytes;
      if (usedBytes === undefined) return [];
      return [{ labels: containerLabels(pod, own), fs: { id, ...limit, usedBytes }, timeMs: storage.timeMs }];
    }),
  );
  return [...whole, ...written];
}

function containerLabels(pod: PodView['pod'], { id, image, name, task }: ContainerView): Row['labels'] {
  return labels(task.cgroup ?? id, id, image, pod, name);
}

function machine(host: HostUsage | undefined): readonly Family[] {
  const gauge = (name: string, help: string, value: number | undefined): Family => ({
    name,
    help,
    type: 'gauge',
    samples: value === undefined ? [] : [{ labels: {}, value }],
  });
  return [
    gauge('machine_cpu_cores', 'Number of logical CPU cores.', host?.cpuCores),
    gauge('machine_memory_bytes', 'Amount of memory installed on the machine.', host?.memory?.limitBytes),
    gauge('machine_swap_bytes', 'Amount of swap memory available on the machine.', host?.memory?.swapLimitBytes),
  ];
}
