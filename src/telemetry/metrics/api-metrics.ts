import { Counter, Histogram, type Registry } from 'prom-client';

/** Requests to the API server, as client-go counts them (reference 14.3). */
export class ApiMetrics {
  readonly #requests: Counter<'code' | 'method' | 'host'>;
  readonly #durations: Histogram<'verb' | 'host'>;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#requests = new Counter({
      name: 'rest_client_requests_total',
      help: 'Number of HTTP requests, partitioned by status code, method, and host.',
      labelNames: ['code', 'method', 'host'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'rest_client_request_duration_seconds',
      help: 'Request latency in seconds. Broken down by verb, and host.',
      labelNames: ['verb', 'host'],
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
      registers,
    });
  }

  /** The head of an answer came, or (`<error>`) none. */
  requested(method: string, host: string, code: number | '<error>', seconds: number): void {
    this.#requests.inc({ code, method, host });
    this.#durations.observe({ verb: method, host }, seconds);
  }
}
