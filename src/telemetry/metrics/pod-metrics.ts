import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { DEF_BUCKETS, POD_BUCKETS, STATUS_BUCKETS } from './buckets.ts';

/** Read when somebody scrapes. */
export interface PodCounts {
  /** Pods that the API server wants here. */
  desired(): number;
  /** Of these, the ones that are admitted and not over. */
  active(): number;
  /** Pods that a worker looks after, by where they stand. */
  working(): readonly { readonly lifecycle: string; readonly config: string; readonly count: number }[];
  /** Pods whose sandbox is ready. */
  running(): number;
  /** Containers as last observed, by state: running, exited, created, unknown. */
  containers(): ReadonlyMap<string, number>;
  /** Pods that have a turn now. */
  turning(): number;
  /** Calls that wait because the backend is asked for enough things already. */
  queued(): number;
  /** Statuses that the API server has not acknowledged yet. */
  unwritten(): number;
}

/** What became of a pod from when it was first seen; all in seconds. */
export interface PodStart {
  readonly sinceSeen: number;
  readonly sinceCreated: number;
  /** Part of the above that was spent on pulling images. */
  readonly pulling: number;
}

/** Pods and their workers (reference 14.2). */
export class PodMetrics {
  readonly #turns: Histogram<'operation_type'>;
  readonly #workerStarts: Histogram;
  readonly #starts: Histogram;
  readonly #sliStarts: Histogram;
  readonly #totalStarts: Histogram;
  readonly #statusSyncs: Histogram;
  readonly #patches: Histogram;
  readonly #sandboxes: Counter;
  readonly #sandboxErrors: Counter;
  readonly #containers: Counter<'container_type'>;
  readonly #containerErrors: Counter<'container_type' | 'code'>;
  readonly #ends: Counter<'container_type' | 'exit_code' | 'reason'>;
  readonly #rejections: Counter<'reason'>;
  readonly #orphans: Counter;
  readonly #perPod: Histogram;
  readonly #turnFailures: Counter;

  constructor(registry: Registry, counts: PodCounts) {
    const registers = [registry];
    const histogram = (name: string, help: string, buckets: number[]): Histogram =>
      new Histogram({ name, help, buckets, registers });
    const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
    this.#turns = new Histogram({
      name: 'kubelet_pod_worker_duration_seconds',
      help: 'Duration in seconds of a turn of a pod worker, by operation type: create, update, sync, kill or terminated',
      labelNames: ['operation_type'],
      buckets: DEF_BUCKETS,
      registers,
    });
    this.#workerStarts = histogram(
      'kubelet_pod_worker_start_duration_seconds',
      'Duration in seconds from when the kubelet sees a pod to when its worker starts',
      DEF_BUCKETS,
    );
    this.#starts = histogram(
      'kubelet_pod_start_duration_seconds',
      'Duration in seconds from when the kubelet sees a pod for the first time to when it runs',
      POD_BUCKETS,
    );
    this.#sliStarts = histogram(
      'kubelet_pod_start_sli_duration_seconds',
      'Duration in seconds to start a pod, without the time to pull images, from its creation to when it is seen running',
      POD_BUCKETS,
    );
    this.#totalStarts = histogram(
      'kubelet_pod_start_total_duration_seconds',
      'Duration in seconds to start a pod, with the time to pull images, from its creation to when it is seen running',
      POD_BUCKETS,
    );
    this.#statusSyncs = histogram(
      'kubelet_pod_status_sync_duration_seconds',
      'Duration in seconds from when a status was known to when the API server had acknowledged it',
      STATUS_BUCKETS,
    );
    this.#patches = histogram(
      'outrigger_status_patch_duration_seconds',
      'Duration in seconds of one status patch of a pod',
      DEF_BUCKETS,
    );
    this.#sandboxes = counter('kubelet_started_pods_total', 'Number of pod sandboxes that were asked for');
    this.#sandboxErrors = counter(
      'kubelet_started_pods_errors_total',
      'Number of pod sandboxes that could not be made',
    );
    this.#containers = new Counter({
      name: 'kubelet_started_containers_total',
      help: 'Number of containers that were asked to start',
      labelNames: ['container_type'],
      registers,
    });
    this.#containerErrors = new Counter({
      name: 'kubelet_started_containers_errors_total',
      help: 'Number of containers that could not be started, by waiting reason',
      labelNames: ['container_type', 'code'],
      registers,
    });
    this.#ends = new Counter({
      name: 'kubelet_terminated_containers_total',
      help: 'Number of containers that ended',
      labelNames: ['container_type', 'exit_code', 'reason'],
      registers,
    });
    this.#rejections = new Counter({
      name: 'kubelet_admission_rejections_total',
      help: 'Number of pods that were rejected at admission',
      labelNames: ['reason'],
      registers,
    });
    this.#orphans = counter(
      'kubelet_orphaned_runtime_pods_total',
      'Number of pods found on the backend that the API server does not know',
    );
    this.#perPod = histogram('kubelet_containers_per_pod_count', 'Number of containers per pod', [1, 2, 4, 8, 16]);
    this.#turnFailures = counter('outrigger_pod_turn_failures_total', 'Number of turns of pod workers that failed');
    exposeCounts(registers, counts);
  }

  /** One turn of a worker ended; `operation` as on the kubelet. */
  turn(operation: 'create' | 'update' | 'sync' | 'kill' | 'terminated', seconds: number, failed: boolean): void {
    this.#turns.observe({ operation_type: operation }, seconds);
    if (failed) this.#turnFailures.inc();
  }

  /** A pod was seen for the first time `seconds` ago and has its worker now. */
  workerStarted(seconds: number, containers: number): void {
    this.#workerStarts.observe(seconds);
    this.#perPod.observe(containers);
  }

  orphanFound(): void {
    this.#orphans.inc();
  }

  rejected(reason: string): void {
    this.#rejections.inc({ reason });
  }

  /** All its containers run for the first time. */
  podRunning({ sinceSeen, sinceCreated, pulling }: PodStart): void {
    this.#starts.observe(sinceSeen);
    this.#totalStarts.observe(sinceCreated);
    this.#sliStarts.observe(Math.max(0, sinceCreated - pulling));
  }

  sandboxMade(ok: boolean): void {
    this.#sandboxes.inc();
    if (!ok) this.#sandboxErrors.inc();
  }

  /** `code` is the waiting reason of a start that failed. */
  containerStarted(type: string, code?: string): void {
    this.#containers.inc({ container_type: type });
    if (code !== undefined) this.#containerErrors.inc({ container_type: type, code });
  }

  containerEnded(type: string, exitCode: number, reason: string): void {
    this.#ends.inc({ container_type: type, exit_code: exitCode, reason });
  }

  statusWritten(sinceKnown: number, patch: number): void {
    this.#statusSyncs.observe(sinceKnown);
    this.#patches.observe(patch);
  }
}

function exposeCounts(registers: Registry[], counts: PodCounts): void {
  const gauge = (name: string, help: string, read: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  // Without static pods there is one value of the label; the kubelet shows it empty.
  const byStatic = (name: string, help: string, read: () => number): Gauge<'static'> =>
    new Gauge({
      name,
      help,
      labelNames: ['static'],
      registers,
      collect() {
        this.set({ static: '' }, read());
      },
    });
  byStatic('kubelet_desired_pods', 'Number of pods that the API server wants on the node', () => counts.desired());
  byStatic('kubelet_active_pods', 'Number of pods that are admitted and not over', () => counts.active());
  gauge('kubelet_mirror_pods', 'Number of mirror pods', () => 0);
  gauge('kubelet_running_pods', 'Number of pods with a running sandbox', () => counts.running());
  gauge('outrigger_pod_turns_running', 'Number of pods whose worker has a turn now', () => counts.turning());
  gauge('outrigger_driving_queue_depth', 'Number of calls that wait for the backend to be done with others', () =>
    counts.queued(),
  );
  gauge(
    'outrigger_pod_statuses_unwritten',
    'Number of pods whose newest status the API server has not acknowledged',
    () => counts.unwritten(),
  );
  new Gauge({
    name: 'kubelet_running_containers',
    help: 'Number of containers, by state',
    labelNames: ['container_state'],
    registers,
    collect() {
      this.reset();
      for (const [state, count] of counts.containers()) this.set({ container_state: state }, count);
    },
  });
  new Gauge({
    name: 'kubelet_working_pods',
    help: 'Number of pods that a worker looks after, by where they stand',
    labelNames: ['lifecycle', 'config', 'static'],
    registers,
    collect() {
      this.reset();
      for (const { lifecycle, config, count } of counts.working()) this.set({ lifecycle, config, static: '' }, count);
    },
  });
  new Counter({
    name: 'kubelet_restarted_pods_total',
    help: 'Number of pods that were restarted because they were deleted and recreated with the same UID',
    labelNames: ['static'],
    registers,
  });
}
