import { createServer, type Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import type { AccessPolicy } from './auth.ts';
import { type KubeletAppOptions, kubeletApp } from './kubelet-app.ts';
import { closeServer, HTTP_LIMITS, listen } from './listen.ts';
import { StreamServer, type StreamServerOptions } from './streaming/upgrade.ts';
import { TlsFiles, type TlsSettings } from './tls-files.ts';
import { TrustGenerations } from './trust-generations.ts';

export interface KubeletServerOptions
  extends Omit<KubeletAppOptions, 'access' | 'signal' | 'http'>,
    Omit<AccessPolicy, 'certificates'>,
    Pick<StreamServerOptions, 'streamingIdleTimeoutMs' | 'endExecWithClient' | 'http'>,
    TlsSettings {
  readonly address: string;
  /** 0 takes any free port. */
  readonly port: number;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** Whoever connects and says nothing holds a socket for no longer. */
const HANDSHAKE_MS = 30_000;

/** The kubelet's HTTP API (reference 11). Every request needs a user, and then an authorization (auth.ts). */
export class KubeletServer {
  readonly #options: KubeletServerOptions;
  readonly #stop = new AbortController();
  readonly #streams: StreamServer;
  #server: Server | undefined;
  #reloading: Promise<void> = Promise.resolve();

  constructor(options: KubeletServerOptions) {
    this.#options = options;
    this.#streams = new StreamServer({ ...options, access: this.#access });
  }

  /** Resolves with the port when connections are taken; throws UsageError where a flag or a file is to blame. */
  async start(): Promise<{ readonly port: number }> {
    const { address, port, clock, log } = this.#options;
    const files = new TlsFiles(this.#options);
    let context = await files.load();
    const server = createServer(
      {
        ...context,
        // Asked for, not demanded: who has none gets an answer in HTTP (401), not a broken handshake.
        requestCert: true,
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
        ...HTTP_LIMITS,
        handshakeTimeout: HANDSHAKE_MS,
        // Node before 22.21 hands over every upgrade; the others are then refused.
        shouldUpgradeCallback: (request) => this.#streams.wants(request),
      },
      kubeletApp({ ...this.#options, access: this.#access, signal: this.#stop.signal }),
    );
    this.#server = server;
    server.on('upgrade', (request, socket, head) => this.#streams.handle(request, socket, head));
    server.on('tlsClientError', () => {}); // port scanners and TCP probes; nothing of ours failed
    const bound = await listen(server, { address, port, flags: '--address, --port', log });
    const { signal } = this.#stop;
    const trust = new TrustGenerations(server);
    const use = (next: SecureContextOptions): void => {
      server.setSecureContext(next);
      if (!isDeepStrictEqual(next.ca, context.ca)) trust.next();
      context = next;
    };
    this.#reloading = files.watch(use, { clock, log, signal });
    return { port: bound };
  }

  /** Ends open streams, followed logs too, and takes no more connections. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    this.#streams.close();
    await this.#reloading;
    await closeServer(this.#server);
  }

  /** For plain requests and upgrades alike. */
  get #access(): AccessPolicy {
    return { ...this.#options, certificates: this.#options.clientCaFile !== undefined };
  }
}
