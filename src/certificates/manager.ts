import type { CertificateRequestApi } from '../kube/certificates.ts';
import { KubeError } from '../kube/errors.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort } from '../util/abort.ts';
import { backoffDelayMs, withJitter } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { type KeyPair, rotationDeadlineMs } from './pair.ts';
import type { CertificateRequest } from './request.ts';
import type { CertificateStore } from './store.ts';
import { type CertificateTemplate, sameTemplate, satisfies } from './template.ts';

/** Reference 13.2. */
const ISSUE_TIMEOUT_MS = 15 * 60_000;
const RETRY = { baseMs: 2_000, maxMs: 32_000 };
const RETRY_JITTER = 0.1;

/** Nobody has said no; nobody has said yes either. */
export class NotSigned extends Error {
  override readonly name = 'NotSigned';
}

export type Requests = Pick<CertificateRequestApi, 'create' | 'issued'>;

/** How it goes, for logs, events and metrics. Never anything secret. */
interface CertificateProgress {
  /** A request was made; somebody has to approve it. */
  waiting?(request: string): void;
  /** An attempt failed, the next one comes by itself. */
  failed?(message: string, error: unknown): void;
  /** `previousAgeSeconds`: what the certificate before it lived, if there was one. */
  issued?(pair: KeyPair, previousAgeSeconds: number | undefined): void;
}

export interface CertificateManagerOptions {
  readonly store: Pick<CertificateStore, 'current' | 'update'>;
  /** What is wanted now; undefined: nothing yet. */
  readonly template: () => CertificateTemplate | undefined;
  /** The API under the credentials that go with the certificate in use. */
  readonly requests: (current: KeyPair | undefined) => Requests;
  readonly makeRequest: (template: CertificateTemplate) => Promise<CertificateRequest>;
  /** A pair to begin with where the store has none that is valid; replaced as soon as possible. */
  readonly bootstrap?: { readonly cert: string; readonly key: string };
  /** How often what is wanted is compared with what is there. */
  readonly pollMs: number;
  readonly progress: CertificateProgress;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/** Keeps one certificate valid and fitting: asks for it, waits for those who approve, stores it, renews it in time (reference 13.2). */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #listeners = new Set<() => void>();
  #pair: KeyPair | undefined;
  #renewAtMs = 0;
  #serverHealthy = false;

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
  }

  /** Undefined once it is expired: nobody would accept it. */
  get current(): KeyPair | undefined {
    const pair = this.#pair;
    return pair !== undefined && this.#options.clock.now() <= pair.notAfterMs ? pair : undefined;
  }

  /** The API server has answered lately, so that a missing certificate is not its absence. */
  get serverHealthy(): boolean {
    return this.#serverHealthy;
  }

  /** Until it ends; +Infinity without one (reference 13.4). */
  ttlSeconds(): number {
    const { current } = this;
    return current === undefined
      ? Number.POSITIVE_INFINITY
      : Math.trunc((current.notAfterMs - this.#options.clock.now()) / 1000);
  }

  /** Told of every new certificate; the returned function takes it off. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes what is on disk. Broken files count as none: a new certificate mends that. */
  async load(): Promise<void> {
    const { store, bootstrap, clock, log, random } = this.#options;
    const stored = await store.current().catch((error: unknown) => {
      log.warn({ err: error }, 'stored certificate is left aside');
      return undefined;
    });
    if (stored !== undefined && clock.now() < stored.notAfterMs) {
      this.#pair = stored;
      this.#renewAtMs = rotationDeadlineMs(stored, random);
    } else if (bootstrap !== undefined) {
      this.#pair = await store.update(bootstrap.cert, bootstrap.key, clock.now());
      this.#renewAtMs = 0;
    }
  }

  /** Resolves when the signal aborts. */
  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clock, random, template, pollMs } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const wanted = template();
      let delayMs = pollMs;
      if (wanted !== undefined && this.#isDue(wanted)) {
        const outcome = await this.#rotate(wanted, signal);
        failures = outcome === 'failed' ? failures + 1 : 0;
        if (outcome === 'failed') delayMs = withJitter(backoffDelayMs(RETRY, failures), RETRY_JITTER, random);
      }
      await clock.sleep(delayMs, { signal }).catch(() => {}); // only an abort rejects; the loop's condition sees it
    }
  }

  #isDue(wanted: CertificateTemplate): boolean {
    const { current } = this;
    return current === undefined || this.#options.clock.now() >= this.#renewAtMs || !satisfies(current, wanted);
  }

  async #rotate(wanted: CertificateTemplate, signal: AbortSignal): Promise<'issued' | 'outdated' | 'failed'> {
    const { clock, store, requests, makeRequest, progress } = this.#options;
    using life = new ChildAbort(signal);
    let outdated = false;
    const stopWatching = this.#whenOutdated(wanted, () => {
      outdated = true;
      life.abort(new Error('something else is wanted now'));
    });
    let cancelTimeout = (): void => {};
    try {
      const { request, key } = await makeRequest(wanted);
      const api = requests(this.current);
      const { signerName, usages } = wanted;
      const created = await api.create({ signerName, request, usages }, { signal: life.signal }).catch((error) => {
        this.#serverHealthy = provesServer(error);
        throw new Error(`cannot create certificate signing request: ${errorMessage(error)}`, { cause: error });
      });
      const { name, uid } = created.metadata;
      progress.waiting?.(name);
      cancelTimeout = clock.timer(ISSUE_TIMEOUT_MS, () =>
        life.abort(new NotSigned(`certificate signing request ${name} was not signed within 15 minutes`)),
      );
      const cert = await api.issued({ name, uid }, { signal: life.signal });
      const pair = await store.update(cert, key, clock.now());
      this.#take(pair);
      if (!satisfies(pair, wanted)) throw new Error('the issued certificate lacks names that were asked for');
      return 'issued';
    } catch (error) {
      if (outdated || signal.aborted) return 'outdated';
      progress.failed?.(errorMessage(error), error);
      return 'failed';
    } finally {
      stopWatching();
      cancelTimeout();
    }
  }

  #take(pair: KeyPair): void {
    const { clock, progress, random } = this.#options;
    const before = this.#pair;
    this.#pair = pair;
    this.#renewAtMs = rotationDeadlineMs(pair, random);
    this.#serverHealthy = true;
    progress.issued?.(pair, before === undefined ? undefined : (clock.now() - before.notBeforeMs) / 1000);
    for (const listener of [...this.#listeners]) listener();
  }

  /** While a request waits the node may get another address: that request is then no use any more. */
  #whenOutdated(wanted: CertificateTemplate, tell: () => void): () => void {
    const { clock, template, pollMs } = this.#options;
    let cancel = (): void => {};
    const look = (): void => {
      const now = template();
      if (now !== undefined && !sameTemplate(now, wanted)) tell();
      else cancel = clock.timer(pollMs, look);
    };
    cancel = clock.timer(pollMs, look);
    return () => cancel();
  }
}

/** Answers that an API server gives which is well, to somebody whose certificate is not. */
function provesServer(error: unknown): boolean {
  return error instanceof KubeError && [401, 403, 404].includes(error.status);
}
