import type { CpuUsage, MemoryUsage, NetworkUsage, Pressure } from '../../providers/contract/index.ts';
import { toTime } from '../model/pod.ts';
import { defined } from './defined.ts';
import { fsStats, podStorage, runtimeFs } from './summary-storage.ts';
import { type Measured, total } from './totals.ts';
import type { ContainerView, PodView, SelfView, StatsView } from './view.ts';

/** `/stats/summary` (reference 11.6; k8s.io/kubelet/pkg/apis/stats/v1alpha1). Fields that are not known are not there. Pure. */
export function summary(view: StatsView, { onlyCpuAndMemory }: { readonly onlyCpuAndMemory: boolean }): object {
  return {
    node: onlyCpuAndMemory ? briefNode(view) : fullNode(view),
    pods: view.pods.map((pod) => (onlyCpuAndMemory ? briefPod(pod) : fullPod(pod, view))),
  };
}

function briefNode(view: StatsView): object {
  const { host, nodeName } = view;
  const systemContainers = systemContainerStats(view);
  return {
    nodeName,
    ...(systemContainers.length === 0 ? {} : { systemContainers }),
    startTime: startTime(host?.bootedAt?.getTime()),
    ...(host === undefined ? {} : cpuAndMemory(hostMeasured(view))),
  };
}

function fullNode(view: StatsView): object {
  const { host } = view;
  if (host === undefined) return briefNode(view);
  const time = toTime(host.timeMs);
  const { fileSystems, pids } = host;
  return defined({
    ...briefNode(view),
    io: ioStats(time, host.io?.pressure),
    network: host.network === undefined ? undefined : networkStats(host.network),
    fs: fileSystems?.node === undefined ? undefined : fsStats(time, fileSystems.node),
    runtime: runtimeFs(view),
    rlimit: pids === undefined ? undefined : { time, ...defined({ maxpid: pids.max, curproc: pids.current }) },
  });
}

function hostMeasured({ host, hostNanoCores }: StatsView): Measured {
  return {
    task: host ?? { timeMs: 0 },
    ...(hostNanoCores === undefined ? {} : { nanoCores: hostNanoCores }),
  };
}

function briefPod(pod: PodView): object {
  return {
    podRef: podRef(pod),
    startTime: startTime(pod.createdMs),
    containers: pod.containers.map(briefContainer),
    ...(pod.total === undefined ? {} : cpuAndMemory(pod.total)),
  };
}

function fullPod(pod: PodView, view: StatsView): object {
  const task = pod.total?.task;
  const processes = task?.processes?.processes;
  const { containers, ...storage } = podStorage(pod, view);
  return defined({
    ...briefPod(pod),
    containers: pod.containers.map((container, index) =>
      defined({
        ...briefContainer(container),
        io: ioStats(toTime(container.task.timeMs), container.task.io?.pressure),
        ...containers[index],
      }),
    ),
    io: task === undefined ? undefined : ioStats(toTime(task.timeMs), task.io?.pressure),
    network: pod.network === undefined ? undefined : networkStats(pod.network),
    ...storage,
    process_stats: processes === undefined ? undefined : { process_count: processes },
  });
}

function podRef({ pod: { name, namespace, uid } }: PodView): object {
  return { name, namespace, uid };
}

function briefContainer(container: ContainerView): object {
  return { name: container.name, startTime: startTime(container.startedMs), ...cpuAndMemory(container) };
}

/** Which daemons run beside the pods is not for us to guess; the pods together and this process are known. */
function systemContainerStats({ pods, self, host }: StatsView): readonly object[] {
  const used = total(pods.flatMap((pod) => pod.total ?? []));
  return [
    ...(used === undefined
      ? []
      : [{ name: 'pods', startTime: startTime(host?.bootedAt?.getTime()), ...cpuAndMemory(unlimited(used)) }]),
    ...(self === undefined ? [] : [selfStats(self)]),
  ];
}

/** What each pod may have says nothing about all of them. */
function unlimited({ task, ...rest }: Measured): Measured {
  if (task.memory === undefined) return { task, ...rest };
  const { limitBytes: _, ...memory } = task.memory;
  return { ...rest, task: { ...task, memory } };
}

function selfStats(self: SelfView): object {
  return { name: 'kubelet', startTime: startTime(self.startedMs), ...cpuAndMemory(self) };
}

function cpuAndMemory({ task, nanoCores }: Measured): object {
  const time = toTime(task.timeMs);
  const { cpu, memory } = task;
  return defined({
    cpu: cpu === undefined ? undefined : cpuStats(time, cpu, nanoCores),
    memory: memory === undefined ? undefined : memoryStats(time, memory),
    swap: memory?.swapBytes === undefined ? undefined : swapStats(time, memory.swapBytes, memory.swapLimitBytes),
  });
}

function cpuStats(time: string, { usageNanos, pressure }: CpuUsage, nanoCores: number | undefined): object {
  return defined({
    time,
    usageNanoCores: nanoCores === undefined ? undefined : Math.round(nanoCores),
    usageCoreNanoSeconds: Math.round(usageNanos),
    psi: psi(pressure),
  });
}

function memoryStats(time: string, memory: MemoryUsage): object {
  const { limitBytes, workingSetBytes } = memory;
  const available =
    limitBytes === undefined || workingSetBytes === undefined ? undefined : Math.max(0, limitBytes - workingSetBytes);
  return defined({
    time,
    availableBytes: available,
    usageBytes: memory.usageBytes,
    workingSetBytes,
    rssBytes: memory.rssBytes,
    pageFaults: memory.pageFaults,
    majorPageFaults: memory.majorPageFaults,
    psi: psi(memory.pressure),
  });
}

function swapStats(time: string, used: number, limit: number | undefined): object {
  return defined({
    time,
    swapAvailableBytes: limit === undefined ? undefined : Math.max(0, limit - used),
    swapUsageBytes: used,
  });
}

function ioStats(time: string, pressure: Pressure | undefined): object | undefined {
  return pressure === undefined ? undefined : { time, psi: psi(pressure) };
}

/** Totals are microseconds, whatever the API says in its comment: the kubelet hands on what the kernel writes. */
function psi(pressure: Pressure | undefined): object | undefined {
  if (pressure === undefined) return undefined;
  const line = ({ totalMicros, ...averages }: Pressure['some']): object => ({ total: totalMicros, ...averages });
  return { full: line(pressure.full), some: line(pressure.some) };
}

/** The kubelet's guess at the interface that counts. */
const DEFAULT_INTERFACE = 'eth0';

function networkStats({ timeMs, interfaces }: NetworkUsage): object {
  const stats = interfaces.map(({ name, rxBytes, rxErrors, txBytes, txErrors }) =>
    defined({ name, rxBytes, rxErrors, txBytes, txErrors }),
  );
  const main = interfaces.findIndex(({ name }) => name === DEFAULT_INTERFACE);
  return { time: toTime(timeMs), ...(main === -1 ? { name: '' } : stats[main]), interfaces: stats };
}

/** A Go client reads null as a time that was never set; the field itself is not optional. */
function startTime(ms: number | undefined): string | null {
  return ms === undefined ? null : toTime(ms);
}
