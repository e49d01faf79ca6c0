import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { DEF_BUCKETS } from './buckets.ts';

interface RequestLabels {
  readonly method: string;
  readonly path: string;
  readonly server_type: 'readwrite' | 'readonly';
  readonly long_running: 'true' | 'false';
}

type Label = keyof RequestLabels;
const LABELS: readonly Label[] = ['method', 'path', 'server_type', 'long_running'];

/** Requests of the kubelet's own HTTP API (reference 11.14). */
export class HttpMetrics {
  readonly #requests: Counter<Label>;
  readonly #inflight: Gauge<Label>;
  readonly #durations: Histogram<Label>;
  readonly #websockets: Counter<'subresource'>;
  readonly #streams: Counter<'subresource' | 'protocol'>;
  readonly #open: Gauge<'subresource'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = LABELS;
    this.#requests = new Counter({
      name: 'kubelet_http_requests_total',
      help: 'Number of the http requests received since the server started',
      labelNames,
      registers,
    });
    this.#inflight = new Gauge({
      name: 'kubelet_http_inflight_requests',
      help: 'Number of the inflight http requests',
      labelNames,
      registers,
    });
    this.#durations = new Histogram({
      name: 'kubelet_http_requests_duration_seconds',
      help: 'Duration in seconds to serve http requests',
      labelNames,
      buckets: DEF_BUCKETS,
      registers,
    });
    this.#websockets = new Counter({
      name: 'kubelet_websocket_streaming_requests_total',
      help: 'Number of WebSocket streaming requests by subresource',
      labelNames: ['subresource'],
      registers,
    });
    this.#streams = new Counter({
      name: 'outrigger_streams_total',
      help: 'Number of exec, attach and port-forward sessions by the protocol that was agreed on',
      labelNames: ['subresource', 'protocol'],
      registers,
    });
    this.#open = new Gauge({
      name: 'outrigger_streams_open',
      help: 'Number of exec, attach and port-forward sessions that are open',
      labelNames: ['subresource'],
      registers,
    });
  }

  /** Call what it returns when the answer is over. */
  began(method: string, url: string, server: RequestLabels['server_type']): () => void {
    const labels = { method, server_type: server, ...pathLabels(url) };
    const done = this.#durations.startTimer(labels);
    this.#requests.inc(labels);
    this.#inflight.inc(labels);
    return () => {
      this.#inflight.dec(labels);
      done();
    };
  }

  /** A session was agreed on; call what it returns when it is over. */
  streamOpened(subresource: string, protocol: string, transport: 'spdy' | 'websocket'): () => void {
    if (transport === 'websocket') this.#websockets.inc({ subresource: subresource.toLowerCase() });
    this.#streams.inc({ subresource, protocol });
    this.#open.inc({ subresource });
    return () => this.#open.dec({ subresource });
  }
}

const KNOWN = new Set(
  'attach checkpoint configz containerLogs debug exec flagz healthz logs metrics pods portForward run runningpods stats statusz'.split(
    ' ',
  ),
);
/** Of two segments, since the kinds of metrics are told apart. */
const METRICS = new Set(['cadvisor', 'probes', 'resource', 'slis']);
/** `portForward` is missing on the kubelet too: it compares another spelling (reference 11.14). */
const LONG_RUNNING = new Set(['exec', 'attach', 'debug']);

/** Only known paths become labels: who asks for anything else must not be able to fill the memory. */
export function pathLabels(url: string): Pick<RequestLabels, 'path' | 'long_running'> {
  const [first = '', second = ''] = url.split('?', 1)[0]?.split('/').slice(1) ?? [];
  if (first === '') return { path: '', long_running: 'false' };
  if (!KNOWN.has(first)) return { path: 'other', long_running: 'false' };
  const path = first === 'metrics' && METRICS.has(second) ? `${first}/${second}` : first;
  return { path, long_running: LONG_RUNNING.has(first) ? 'true' : 'false' };
}
