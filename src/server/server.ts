import { createServer, type Server } from 'node:https';
import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import type { AccessPolicy } from './auth.ts';
import { type KubeletAppOptions, kubeletApp } from './kubelet-app.ts';
import { closeServer, listen } from './listen.ts';
import type { KeyAndCert } from './serving-certificate.ts';
import { type TlsFileNames, TlsFiles } from './tls-files.ts';

export interface KubeletServerOptions
  extends Omit<KubeletAppOptions, 'access' | 'signal'>,
    Omit<AccessPolicy, 'certificates'>,
    TlsFileNames {
  readonly nodeName: string;
  readonly address: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** DNS names and addresses of the node, for the certificate that is made when no files are given. */
  readonly hosts: readonly string[];
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

const IDLE_MS = 90_000;
const MAX_HEADER_BYTES = 1 << 20;

/** The kubelet's HTTP API (reference 11). Every request needs a user, and then an authorization (auth.ts). */
export class KubeletServer {
  readonly #options: KubeletServerOptions;
  readonly #stop = new AbortController();
  #server: Server | undefined;
  #reloading: Promise<void> = Promise.resolve();

  constructor(options: KubeletServerOptions) {
    this.#options = options;
  }

  /** Resolves with the port when connections are taken; throws UsageError where a flag or a file is to blame. */
  async start(): Promise<{ readonly port: number }> {
    const { address, port, clock, log } = this.#options;
    const files = new TlsFiles(this.#options, await this.#ownCertificate());
    const server = createServer(
      {
        ...(await files.load()),
        // Asked for, not demanded: who has none gets an answer in HTTP (401), not a broken handshake.
        requestCert: true,
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
        keepAliveTimeout: IDLE_MS,
        maxHeaderSize: MAX_HEADER_BYTES,
      },
      kubeletApp({ ...this.#options, access: this.#access, signal: this.#stop.signal }),
    );
    this.#server = server;
    server.on('tlsClientError', () => {}); // port scanners and TCP probes; nothing of ours failed
    const bound = await listen(server, { address, port, flags: '--address, --port', log });
    const { signal } = this.#stop;
    this.#reloading = files.watch((context) => server.setSecureContext(context), { clock, log, signal });
    return { port: bound };
  }

  /** Ends open streams, followed logs too, and takes no more connections. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await this.#reloading;
    await closeServer(this.#server);
  }

  /** For plain requests and upgrades alike. */
  get #access(): AccessPolicy {
    return { ...this.#options, certificates: this.#options.clientCaFile !== undefined };
  }

  async #ownCertificate(): Promise<KeyAndCert | undefined> {
    const { nodeName, hosts, clock, tls } = this.#options;
    if (tls !== undefined) return undefined;
    const { makeServingCertificate } = await import('./serving-certificate.ts');
    return makeServingCertificate(nodeName, hosts, clock.now());
  }
}
