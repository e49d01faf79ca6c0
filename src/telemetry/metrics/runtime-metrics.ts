import { Counter, Histogram, type Registry } from 'prom-client';
import { DEF_BUCKETS, RUNTIME_BUCKETS } from './buckets.ts';

/** Calls of the provider: under the kubelet's names for runtime operations, and under our own with the error's code. */
export class RuntimeMetrics {
  readonly #operations: Counter<'operation_type'>;
  readonly #errors: Counter<'operation_type'>;
  readonly #durations: Histogram<'operation_type'>;
  readonly #sandboxes: Histogram<'runtime_handler'>;
  readonly #sandboxErrors: Counter<'runtime_handler'>;
  readonly #calls: Histogram<'method'>;
  readonly #callErrors: Counter<'method' | 'code'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['operation_type'] as const;
    this.#operations = new Counter({
      name: 'kubelet_runtime_operations_total',
      help: 'Number of runtime operations by operation type',
      labelNames,
      registers,
    });
    this.#errors = new Counter({
      name: 'kubelet_runtime_operations_errors_total',
      help: 'Number of runtime operation errors by operation type',
      labelNames,
      registers,
    });
    this.#durations = new Histogram({
      name: 'kubelet_runtime_operations_duration_seconds',
      help: 'Duration in seconds of runtime operations by operation type',
      labelNames,
      buckets: RUNTIME_BUCKETS,
      registers,
    });
    this.#sandboxes = new Histogram({
      name: 'kubelet_run_podsandbox_duration_seconds',
      help: 'Duration in seconds of making a pod sandbox',
      labelNames: ['runtime_handler'],
      buckets: DEF_BUCKETS,
      registers,
    });
    this.#sandboxErrors = new Counter({
      name: 'kubelet_run_podsandbox_errors_total',
      help: 'Number of pod sandboxes that could not be made',
      labelNames: ['runtime_handler'],
      registers,
    });
    this.#calls = new Histogram({
      name: 'outrigger_provider_call_duration_seconds',
      help: 'Duration in seconds of calls of the provider by method',
      labelNames: ['method'],
      buckets: RUNTIME_BUCKETS,
      registers,
    });
    this.#callErrors = new Counter({
      name: 'outrigger_provider_call_errors_total',
      help: 'Number of calls of the provider that failed, by method and error code',
      labelNames: ['method', 'code'],
      registers,
    });
  }

  /** One call ended. `operation` is the kubelet's name for it, where it has one; `code` is that of the error. */
  called(method: string, operation: string | undefined, seconds: number, code: string | undefined): void {
    this.#calls.observe({ method }, seconds);
    if (code !== undefined) this.#callErrors.inc({ method, code });
    if (operation === undefined) return;
    this.#operations.inc({ operation_type: operation });
    this.#durations.observe({ operation_type: operation }, seconds);
    if (code !== undefined) this.#errors.inc({ operation_type: operation });
    if (operation !== 'run_podsandbox') return;
    this.#sandboxes.observe({ runtime_handler: '' }, seconds);
    if (code !== undefined) this.#sandboxErrors.inc({ runtime_handler: '' });
  }
}
