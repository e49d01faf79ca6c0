import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const ROTATION_BUCKETS = [60, 3600, 14_400, 86_400, 604_800, 2_592_000, 7_776_000, 15_552_000, 31_104_000, 124_416_000];

/** The serving certificate that a node asks for and renews (reference 13.4). */
export class ServingCertificateMetrics {
  readonly #rotations: Histogram;
  readonly #failures: Counter;

  constructor(registry: Registry, ttlSeconds: () => number | undefined) {
    const registers = [registry];
    ttlGauge('server', registers, ttlSeconds);
    this.#rotations = new Histogram({
      name: 'kubelet_certificate_manager_server_rotation_seconds',
      help: 'Histogram of the number of seconds the previous certificate lived before being rotated.',
      buckets: ROTATION_BUCKETS,
      registers,
    });
    this.#failures = new Counter({
      name: 'kubelet_server_expiration_renew_errors',
      help: 'Counter of certificate renewal errors.',
      registers,
    });
  }

  rotated(previousAgeSeconds: number): void {
    this.#rotations.observe(previousAgeSeconds);
  }

  renewFailed(): void {
    this.#failures.inc();
  }
}

/** The client certificate of the process (reference 13.4). */
export class ClientCertificateMetrics {
  readonly #failures: Counter;

  constructor(registry: Registry, ttlSeconds: () => number | undefined) {
    const registers = [registry];
    ttlGauge('client', registers, ttlSeconds);
    this.#failures = new Counter({
      name: 'kubelet_certificate_manager_client_expiration_renew_errors',
      help: 'Counter of certificate renewal errors.',
      registers,
    });
  }

  renewFailed(): void {
    this.#failures.inc();
  }
}

function ttlGauge(side: 'server' | 'client', registers: Registry[], ttlSeconds: () => number | undefined): void {
  new Gauge({
    name: `kubelet_certificate_manager_${side}_ttl_seconds`,
    help: `Seconds until the ${side} certificate expires, negative when it has; +Inf when none is managed here.`,
    registers,
    collect() {
      this.set(ttlSeconds() ?? Number.POSITIVE_INFINITY);
    },
  });
}
