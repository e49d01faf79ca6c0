import { createHash } from 'node:crypto';
import type {
  ContainerSpec,
  Labels,
  ObservedPod,
  PodIdentity,
  ProviderContext,
  VolumeSpec,
} from '../contract/index.ts';
import { FakeContainer } from './container.ts';
import type { FakeScript } from './schema.ts';

/** What a pod-level backend runs for the pod; a container-level one has none. */
export interface UnitDriver {
  advance(): void;
  stop(graceSeconds: number): void;
  dispose(): void;
}

export interface FakePodOptions {
  readonly identity: PodIdentity;
  readonly attempt: number;
  readonly hostname: string;
  readonly labels: Labels;
  readonly volumes: readonly VolumeSpec[];
  readonly ips: readonly string[];
  readonly state: ObservedPod['state'];
  readonly clock: ProviderContext['clock'];
  readonly release: (ips: readonly string[]) => void;
  readonly onChange: (pod: FakePod) => void;
}

/** One unit on the backend: address, volumes and every container incarnation it still remembers. */
export class FakePod {
  readonly identity: PodIdentity;
  readonly attempt: number;
  readonly hostname: string;
  readonly unitId: string;
  readonly labels: Labels;
  readonly volumes: Map<string, VolumeSpec>;
  /** By `name#attempt`, in order of creation. */
  readonly containers = new Map<string, FakeContainer>();
  readonly #createdAt: Date;
  readonly #clock: ProviderContext['clock'];
  readonly #release: (ips: readonly string[]) => void;
  readonly #onChange: (pod: FakePod) => void;
  #ips: readonly string[];
  #state: ObservedPod['state'];
  #reason: string | undefined;
  #message: string | undefined;
  #driver: UnitDriver | undefined;
  #graceSeconds: number | undefined;

  constructor(options: FakePodOptions) {
    this.identity = options.identity;
    this.attempt = options.attempt;
    this.hostname = options.hostname;
    this.labels = options.labels;
    this.volumes = new Map(options.volumes.map((volume) => [volume.name, volume]));
    this.#ips = options.ips;
    this.#state = options.state;
    this.#clock = options.clock;
    this.#release = options.release;
    this.#onChange = (pod) => {
      options.onChange(pod);
      this.#driver?.advance();
    };
    this.#createdAt = new Date(options.clock.now());
    this.unitId = makeId(`${options.identity.uid} ${options.attempt} ${options.clock.now()}`);
  }

  get createdAt(): Date {
    return this.#createdAt;
  }

  get state(): ObservedPod['state'] {
    return this.#state;
  }

  get ips(): readonly string[] {
    return this.#ips;
  }

  become(state: ObservedPod['state'], reason?: string, message?: string): void {
    this.#state = state;
    this.#reason = reason;
    this.#message = message;
    this.#onChange(this);
  }

  /** From now on `driver` sequences this pod's containers. */
  drive(driver: UnitDriver, launchGraceSeconds: number): void {
    this.#driver = driver;
    this.#graceSeconds = launchGraceSeconds;
  }

  /** Where the grace period is fixed at launch, the one asked for is ignored. */
  stop(graceSeconds: number, graceAdjustable: boolean): void {
    this.#driver?.stop(graceAdjustable ? graceSeconds : (this.#graceSeconds ?? graceSeconds));
  }

  find(container: string, attempt: number): FakeContainer | undefined {
    return this.containers.get(`${container}#${attempt}`);
  }

  add(spec: ContainerSpec, labels: Labels, imageId: () => string, script: FakeScript): FakeContainer {
    const container = new FakeContainer({
      id: makeId(`${this.identity.uid} ${spec.name} ${spec.attempt} ${this.#clock.now()}`),
      spec,
      labels,
      imageId,
      script,
      clock: this.#clock,
      onChange: () => this.#onChange(this),
    });
    this.containers.set(`${spec.name}#${spec.attempt}`, container);
    this.#onChange(this);
    return container;
  }

  forget(container: FakeContainer): void {
    container.dispose();
    this.containers.delete(`${container.spec.name}#${container.spec.attempt}`);
    this.#onChange(this);
  }

  /** Takes over what an earlier unit of the same pod leaves: its ended containers. */
  inherit(earlier: FakePod): void {
    for (const [key, container] of earlier.containers)
      if (container.state.status === 'exited') this.containers.set(key, container);
  }

  /** The unit ends: whatever runs is killed, the address is free, ended containers stay. */
  end(reason?: string, message?: string): void {
    this.#driver?.dispose();
    this.#driver = undefined;
    for (const container of this.containers.values())
      if (container.state.status === 'running' || container.state.status === 'created') container.stop(0);
    this.#release(this.#ips);
    this.#ips = [];
    this.become('stopped', reason, message);
  }

  dispose(): void {
    this.#driver?.dispose();
    for (const container of this.containers.values()) container.dispose();
  }

  observe(): ObservedPod {
    return {
      pod: this.identity,
      unitId: this.unitId,
      attempt: this.attempt,
      createdAt: this.#createdAt,
      state: this.#state,
      ips: this.#ips,
      labels: this.labels,
      containers: [...this.containers.values()].map((container) => container.observe()),
      ...(this.#reason === undefined ? {} : { reason: this.#reason }),
      ...(this.#message === undefined ? {} : { message: this.#message }),
    };
  }
}

function makeId(seed: string): string {
  return createHash('sha256').update(seed).digest('hex');
}
