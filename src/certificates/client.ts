import type { Logger } from '../telemetry/logger.ts';
import { untilAborted } from '../util/abort.ts';
import { CertificateManager, type CertificateManagerOptions, type Requests } from './manager.ts';
import type { KeyPair } from './pair.ts';
import { clientTemplate } from './template.ts';

/** Reference 13.2. */
const CHECK_MS = 10_000;
/** What is wanted never changes; only time does. */
const POLL_MS = 10_000;
const GONE_MS = 5 * 60_000;

export interface ClientCertificateOptions
  extends Pick<CertificateManagerOptions, 'store' | 'makeRequest' | 'bootstrap' | 'clock' | 'random'> {
  readonly nodeName: string;
  /** Under the certificate in use, or under what the node was given to begin with. */
  readonly requests: (current: KeyPair | undefined) => Requests;
  /** `kubelet_certificate_manager_client_expiration_renew_errors`. */
  readonly renewFailed?: () => void;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** The node's own identity at the API server, renewed by itself (`rotateCertificates`, reference 13.2). */
export class ClientCertificate {
  readonly #options: ClientCertificateOptions;
  readonly #manager: CertificateManager;
  readonly #first = Promise.withResolvers<void>();

  constructor(options: ClientCertificateOptions) {
    this.#options = options;
    const { nodeName, log } = options;
    const template = clientTemplate(nodeName);
    let said = '';
    this.#manager = new CertificateManager({
      ...options,
      template: () => template,
      pollMs: POLL_MS,
      progress: {
        waiting: (request) => log.info({ request }, 'client certificate asked for'),
        failed: (why, error) => {
          options.renewFailed?.();
          // A server that is away is one fact, however often it is asked.
          if (why !== said) log.warn({ err: error }, 'no client certificate yet');
          said = why;
        },
        issued: ({ certificate }) => {
          said = '';
          log.info({ validTo: certificate.validTo }, 'client certificate issued');
          this.#first.resolve();
        },
      },
    });
  }

  get current(): KeyPair | undefined {
    return this.#manager.current;
  }

  ttlSeconds(): number {
    return this.#manager.ttlSeconds();
  }

  onChange(listener: () => void): () => void {
    return this.#manager.onChange(listener);
  }

  async load(): Promise<void> {
    await this.#manager.load();
    if (this.current !== undefined) this.#first.resolve();
  }

  /** Resolves when there is a certificate to go with. */
  available({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    return untilAborted(this.#first.promise, signal);
  }

  /**
   * Resolves when the signal aborts. Rejects when the certificate is gone although the API server is there: a new start may find
   * other credentials, this process will not.
   */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await Promise.all([this.#manager.run({ signal }), this.#watchExpiry(signal)]);
  }

  async #watchExpiry(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    let lastSeenMs = clock.now();
    let had = this.current !== undefined;
    let said = false;
    while (!signal.aborted) {
      if (this.current !== undefined) {
        lastSeenMs = clock.now();
        had = true;
        said = false;
      } else if (this.#manager.serverHealthy && (had || clock.now() - lastSeenMs >= GONE_MS)) {
        throw new Error('there is no valid client certificate, and the API server answers: only a new start can help');
      } else if (had && !said) {
        log.error({}, 'the client certificate has expired, and the API server does not answer');
        said = true;
      }
      await clock.sleep(CHECK_MS, { signal }).catch(() => {}); // only an abort rejects; the loop's condition sees it
    }
  }
}
