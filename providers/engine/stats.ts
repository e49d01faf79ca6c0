import { release } from 'node:os';
import type Docker from 'dockerode';
import type {
  CallOptions,
  ContainerUsage,
  HostUsage,
  PodUid,
  PodUsage,
  SandboxUsage,
  StatsFacet,
  StorageUsage,
} from '../contract/index.ts';
import { mapLimit } from '../shared/map-limit.ts';
import { decodeUnit, type Unit } from '../shared/unit-labels.ts';
import type { Engine } from './engine.ts';
import { statusBehind } from './errors.ts';
import { type ApiStats, networkInterfaces, taskUsage } from './stats-api.ts';
import { hostFiles, readHost } from './stats-host.ts';
import { LocalStats } from './stats-local.ts';
import { askStorage, logBytesBelow } from './stats-storage.ts';
import { numberIn } from './stats-text.ts';
import { inspectContainer, labelFilter } from './units.ts';

export interface EngineStatsOptions {
  /** False where the engine's address already says that it is elsewhere; otherwise it is found out. */
  readonly mayBeLocal: boolean;
  /** Questions at a time. Engines answer on the tick of a clock of theirs, so that few at a time take long. */
  readonly questionsAtOnce?: number;
}

const QUESTIONS_AT_ONCE = 32;
/** A machine does not grow while its engine runs. */
const FACTS_MS = 300_000;

/** What is needed of the engine's description of its machine. */
interface Facts {
  readonly atMs: number;
  readonly memoryBytes: number;
  readonly cores: number;
  readonly rootDirectory?: string;
  /** The machine is this one. */
  readonly here: boolean;
}

type Running = Docker.ContainerInfo & { readonly unit: Extract<Unit, { kind: 'sandbox' | 'container' }> };

/** Measures the pods of an engine, and its machine: from the kernel where both are here, by the engine's API otherwise. */
export class EngineStats implements StatsFacet {
  readonly #engine: Engine;
  readonly #options: EngineStatsOptions;
  readonly #local: LocalStats;
  #facts: Facts | undefined;

  constructor(engine: Engine, options: EngineStatsOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#local = new LocalStats(engine.context.clock);
  }

  async usage(options: CallOptions): Promise<readonly PodUsage[]> {
    const [running, { memoryBytes }] = await Promise.all([this.#running(options), this.#describe(options)]);
    const pods = new Map<PodUid, Building>();
    for (const { unit } of running) pods.set(unit.pod.uid, { pod: unit.pod, containers: [] });
    await mapLimit(running, this.#options.questionsAtOnce ?? QUESTIONS_AT_ONCE, async (container) => {
      const measured = await this.#measure(container, memoryBytes, options);
      const pod = pods.get(container.unit.pod.uid);
      if (measured === undefined || pod === undefined) return;
      const { task, network } = measured;
      if (container.unit.kind === 'container') {
        pod.containers.push({ name: container.unit.container, attempt: container.unit.attempt, ...task });
        return;
      }
      pod.sandbox = { id: container.Id, image: container.Image, ...task };
      if (network !== undefined) pod.network = network;
    });
    this.#local.keepOnly(new Set(running.map(({ Id }) => Id)));
    return [...pods.values()];
  }

  async storage(options: CallOptions): Promise<StorageUsage> {
    const { here, rootDirectory } = await this.#describe(options);
    return askStorage(
      this.#engine,
      async (id) => (here && rootDirectory !== undefined ? logBytesBelow(rootDirectory, id) : undefined),
      options,
    );
  }

  async host(options: CallOptions): Promise<HostUsage> {
    const { here, rootDirectory, memoryBytes, cores } = await this.#describe(options);
    const nowMs = this.#engine.context.clock.now();
    if (here) return readHost(hostFiles, nowMs, rootDirectory);
    return { timeMs: nowMs, cpuCores: cores, memory: { limitBytes: memoryBytes } };
  }

  async #running(options: CallOptions): Promise<readonly Running[]> {
    const { docker, calls } = this.#engine;
    const filters = { label: labelFilter(this.#engine, {}), status: ['running'] };
    const found = await calls.call('list running containers', options, (abortSignal) =>
      docker.listContainers({ filters, abortSignal }),
    );
    const running = found.flatMap((info): Running[] => {
      const unit = decodeUnit(info.Labels);
      return unit === undefined || unit.kind === 'volume' ? [] : [{ ...info, unit }];
    });
    // A sandbox that is being replaced, too: the newest one is the pod's.
    const newest = new Map<PodUid, number>();
    for (const { unit } of running)
      if (unit.kind === 'sandbox')
        newest.set(unit.pod.uid, Math.max(unit.attempt, newest.get(unit.pod.uid) ?? unit.attempt));
    return running.filter(({ unit }) => unit.kind === 'container' || unit.attempt === newest.get(unit.pod.uid));
  }

  /** undefined when it ended while it was looked at. */
  async #measure({ Id, unit }: Running, machineBytes: number, options: CallOptions) {
    if (this.#options.mayBeLocal) {
      const task = await this.#local.measure(Id, () => this.#pidOf(Id, options));
      // Lets others have their turn: a hundred containers are some thousand files.
      await new Promise((resolve) => setImmediate(resolve));
      if (task !== undefined) return { task, network: unit.kind === 'sandbox' ? this.#local.network(Id) : undefined };
    }
    const stats = await this.#ask(Id, options);
    const task = stats && taskUsage(stats, this.#engine.context.clock.now(), machineBytes);
    if (stats === undefined || task === undefined) return undefined;
    const interfaces = networkInterfaces(stats);
    return { task, network: interfaces === undefined ? undefined : { timeMs: task.timeMs, interfaces } };
  }

  async #ask(id: string, options: CallOptions): Promise<ApiStats | undefined> {
    const { docker, calls } = this.#engine;
    try {
      return await calls.call('measure a container', options, (abortSignal) => {
        // Without one-shot the engine waits for a second sample. The types of the library do not know the signal.
        const request: { readonly stream: false } = { stream: false, 'one-shot': true, abortSignal } as {
          stream: false;
        };
        return docker.getContainer(id).stats(request);
      });
    } catch (error) {
      if (statusBehind(error) === 404) return undefined;
      throw error;
    }
  }

  async #pidOf(id: string, options: CallOptions): Promise<number | undefined> {
    const info = await inspectContainer(this.#engine, id, options);
    return info?.State.Running === true ? info.State.Pid : undefined;
  }

  async #describe(options: CallOptions): Promise<Facts> {
    const { docker, calls, context } = this.#engine;
    const known = this.#facts;
    if (known !== undefined && context.clock.now() - known.atMs < FACTS_MS) return known;
    // The client library does not type the answer.
    const info: { MemTotal: number; NCPU: number; KernelVersion?: string; DockerRootDir?: string } = await calls.call(
      'describe its machine',
      options,
      () => docker.info(),
    );
    const facts: Facts = {
      atMs: context.clock.now(),
      memoryBytes: info.MemTotal,
      cores: info.NCPU,
      ...(info.DockerRootDir === undefined ? {} : { rootDirectory: info.DockerRootDir }),
      here: this.#options.mayBeLocal && info.KernelVersion === release() && (await hasMemory(info.MemTotal)),
    };
    this.#facts = facts;
    return facts;
  }
}

interface Building {
  readonly pod: PodUsage['pod'];
  readonly containers: ContainerUsage[];
  sandbox?: SandboxUsage;
  network?: NonNullable<PodUsage['network']>;
}

/** The engine reads it from the same file: equal to the page, it is the same machine (or a twin, of which the same is true). */
async function hasMemory(bytes: number): Promise<boolean> {
  const line = /^MemTotal: +(\d+) kB$/m.exec((await hostFiles.text('/proc/meminfo')) ?? '');
  return (numberIn(line?.[1]) ?? -1) * 1024 === bytes;
}
