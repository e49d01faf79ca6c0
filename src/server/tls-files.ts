import { constants, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from '../telemetry/logger.ts';
import { untilAborted } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage, UsageError } from '../util/errors.ts';

/** Certificates are renewed days before they end, so a look every ten seconds is early enough. */
const CHECK_MS = 10_000;

/** PEM texts. */
export interface KeyAndCert {
  readonly key: string;
  readonly cert: string;
}

/** Where the serving certificate comes from. */
export type ServingSource =
  | { readonly type: 'files'; readonly certFile: string; readonly keyFile: string }
  | {
      readonly type: 'issued';
      /** Undefined while there is none: handshakes then fail, and the port stays open. */
      current(): KeyAndCert | undefined;
      /** The returned function takes the listener off. */
      onChange(listener: () => void): () => void;
    };

export interface TlsSettings {
  readonly serving: ServingSource;
  readonly clientCaFile?: string;
  /** TLS 1.2 unless said otherwise. */
  readonly tlsMinVersion?: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's names, those of TLS 1.3 included; absent: the library's own choice. */
  readonly tlsCiphers?: readonly string[];
}

/** The server's TLS material, looked at again while the server runs. */
export class TlsFiles {
  readonly #settings: TlsSettings;
  #last = '';

  constructor(settings: TlsSettings) {
    this.#settings = settings;
  }

  /** Throws UsageError naming the flag and the file. */
  async load(): Promise<SecureContextOptions> {
    const options = await this.#read();
    this.#last = fingerprint(options);
    return options;
  }

  /** Hands over what has changed until the signal aborts; material that cannot be used is reported and left aside. */
  async watch(
    use: (options: SecureContextOptions) => void,
    {
      clock,
      log,
      signal,
    }: { readonly clock: Clock; readonly log: Pick<Logger, 'info' | 'warn'>; readonly signal: AbortSignal },
  ): Promise<void> {
    let complained = '';
    while (!signal.aborted) {
      try {
        await this.#nextLook(clock, signal);
        const options = await this.#read();
        const print = fingerprint(options);
        if (print === this.#last) continue;
        use(options);
        this.#last = print;
        complained = '';
        log.info({ files: this.#fileNames() }, 'TLS files reloaded');
      } catch (error) {
        if (signal.aborted) return;
        // A half-written pair is common and mends itself; the same complaint is made once.
        if (errorMessage(error) === complained) continue;
        complained = errorMessage(error);
        log.warn({ err: error }, 'TLS files not reloaded');
      }
    }
  }

  /** At once when a certificate was issued, otherwise after a while. */
  async #nextLook(clock: Clock, signal: AbortSignal): Promise<void> {
    const { serving } = this.#settings;
    const due = Promise.withResolvers<void>();
    const cancel = clock.timer(CHECK_MS, due.resolve);
    const stopListening = serving.type === 'issued' ? serving.onChange(due.resolve) : undefined;
    try {
      await untilAborted(due.promise, signal);
    } finally {
      cancel();
      stopListening?.();
    }
  }

  async #read(): Promise<SecureContextOptions> {
    const { serving, clientCaFile, tlsMinVersion = 'TLSv1.2', tlsCiphers } = this.#settings;
    const pair = serving.type === 'issued' ? serving.current() : await readFiles(serving);
    const ca = clientCaFile === undefined ? [] : [await read('--client-ca-file', clientCaFile)];
    const options: SecureContextOptions = {
      ...(pair === undefined ? {} : { cert: pair.cert, key: pair.key }),
      minVersion: tlsMinVersion,
      ...(tlsCiphers === undefined ? {} : { ciphers: tlsCiphers.join(':') }),
      // Never absent: Node would then trust the public authorities, and anybody with a certificate of theirs would be let in.
      ca,
      // An authority in the file counts even where it is not the root itself.
      allowPartialTrustChain: true,
      // A resumed session would keep its user after the authority is taken away.
      secureOptions: constants.SSL_OP_NO_TICKET,
    };
    try {
      createSecureContext(options);
      // A file without any certificate is no error to OpenSSL, and would let nobody in.
      for (const text of ca) new X509Certificate(text);
    } catch (error) {
      throw new UsageError(`TLS files cannot be used (${this.#fileNames().join(', ')}): ${errorMessage(error)}`, {
        cause: error,
      });
    }
    return options;
  }

  #fileNames(): string[] {
    const { serving, clientCaFile } = this.#settings;
    const own = serving.type === 'files' ? [serving.certFile, serving.keyFile] : [];
    return [...own, ...(clientCaFile === undefined ? [] : [clientCaFile])];
  }
}

async function readFiles({ certFile, keyFile }: { certFile: string; keyFile: string }): Promise<KeyAndCert> {
  return { cert: await read('--tls-cert-file', certFile), key: await read('--tls-private-key-file', keyFile) };
}

async function read(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${flag} ${file}: ${errorMessage(error)}`, { cause: error });
  }
}

function fingerprint({ cert, key, ca }: SecureContextOptions): string {
  return JSON.stringify([cert, key, ca]);
}
