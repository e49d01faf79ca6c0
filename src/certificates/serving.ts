import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import { CertificateManager, type CertificateManagerOptions, NotSigned, type Requests } from './manager.ts';
import type { KeyPair } from './pair.ts';
import type { CertificateStore } from './store.ts';
import { type NodeAddress, servingTemplate } from './template.ts';

/** An approver that works by itself answers within this time: nothing is to be said before. */
const PATIENCE_MS = 10_000;
/** As soon as the kubelet notices another address. */
const POLL_MS = 1_000;
const REPEAT_MS = 3_600_000;

export interface ServingEvent {
  readonly type: 'Warning';
  readonly reason: 'ServingCertificateNotIssued';
  readonly message: string;
}

/** Reference 13.4: `kubelet_certificate_manager_server_rotation_seconds`, `kubelet_server_expiration_renew_errors`. */
export interface CertificateMetrics {
  rotated(previousAgeSeconds: number): void;
  renewFailed(): void;
}

export interface ServingCertificateOptions {
  readonly nodeName: string;
  /** As the node reports them; empty while it does not know. */
  readonly addresses: () => readonly NodeAddress[];
  readonly store: Pick<CertificateStore, 'current' | 'update'>;
  readonly requests: Requests;
  readonly makeRequest: CertificateManagerOptions['makeRequest'];
  /** Told on the Node object: the port is there, and yet nobody can talk to it. */
  readonly event: (event: ServingEvent) => void;
  readonly metrics?: CertificateMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** The certificate of the kubelet API, from the cluster's signer (`serverTLSBootstrap`, reference 13.3). */
export class ServingCertificate {
  readonly #options: ServingCertificateOptions;
  readonly #manager: CertificateManager;
  #request: string | undefined;
  #said = '';
  #saidAtMs = 0;
  #cancelReminder: () => void = () => {};

  constructor(options: ServingCertificateOptions) {
    this.#options = options;
    const { nodeName, addresses, requests, log } = options;
    this.#manager = new CertificateManager({
      ...options,
      template: () => servingTemplate(nodeName, addresses()),
      requests: () => requests,
      pollMs: POLL_MS,
      progress: {
        waiting: (request) => {
          this.#request = request;
          this.#remind();
        },
        failed: (message, error) => this.#failed(message, error),
        issued: (pair, age) => {
          this.#settle();
          if (age !== undefined) options.metrics?.rotated(age);
          const { request, certificate } = { request: this.#request, certificate: pair.certificate };
          log.info(
            { request, validTo: certificate.validTo, names: certificate.subjectAltName },
            'serving certificate issued',
          );
        },
      },
    });
  }

  /** Undefined while there is none that is valid; handshakes then fail. */
  get current(): KeyPair | undefined {
    return this.#manager.current;
  }

  onChange(listener: () => void): () => void {
    return this.#manager.onChange(listener);
  }

  ttlSeconds(): number {
    return this.#manager.ttlSeconds();
  }

  load(): Promise<void> {
    return this.#manager.load();
  }

  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    try {
      await this.#manager.run({ signal });
    } finally {
      this.#cancelReminder();
    }
  }

  /** Told on the Node for each request, as it names the one to approve; in the log each hour. */
  #remind(): void {
    this.#cancelReminder();
    this.#cancelReminder = this.#options.clock.timer(PATIENCE_MS, () => {
      const message = `CertificateSigningRequest ${this.#request} is not approved or not signed yet`;
      this.#event(message);
      this.#log('pending', message);
    });
  }

  #failed(message: string, error: unknown): void {
    this.#cancelReminder();
    this.#options.metrics?.renewFailed();
    if (error instanceof NotSigned) return; // said already
    // The names of requests that follow each other are no news.
    const kind = this.#request === undefined ? message : message.replaceAll(this.#request, '');
    if (this.#log(kind, message, error)) this.#event(message);
  }

  /** Each trouble once, and again each hour. */
  #log(kind: string, why: string, error?: unknown): boolean {
    const { clock, log } = this.#options;
    if (kind === this.#said && clock.now() - this.#saidAtMs < REPEAT_MS) return false;
    this.#said = kind;
    this.#saidAtMs = clock.now();
    log.warn({ ...(error === undefined ? {} : { err: error }), request: this.#request, why }, this.#consequence);
    return true;
  }

  #event(message: string): void {
    this.#options.event({
      type: 'Warning',
      reason: 'ServingCertificateNotIssued',
      message: `${message}; ${this.#consequence}`,
    });
  }

  get #consequence(): string {
    return this.current === undefined
      ? 'no serving certificate available for the kubelet: its API answers no TLS'
      : 'the serving certificate is not renewed yet';
  }

  #settle(): void {
    this.#cancelReminder();
    this.#said = '';
  }
}
