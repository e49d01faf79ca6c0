import { constants, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage, UsageError } from '../util/errors.ts';
import type { KeyAndCert } from './serving-certificate.ts';

/** Certificates are renewed days before they end, so a look every ten seconds is early enough. */
const CHECK_MS = 10_000;

export interface TlsFileNames {
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  readonly clientCaFile?: string;
}

/** The server's TLS material from files, re-read while the server runs; without `tls` files `fallback` serves. */
export class TlsFiles {
  readonly #names: TlsFileNames;
  readonly #fallback: KeyAndCert | undefined;
  #last = '';

  constructor(names: TlsFileNames, fallback: KeyAndCert | undefined) {
    this.#names = names;
    this.#fallback = fallback;
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
        await clock.sleep(CHECK_MS, { signal });
        const options = await this.#read();
        const print = fingerprint(options);
        if (print === this.#last) continue;
        use(options);
        this.#last = print;
        complained = '';
        log.info({ files: this.#names }, 'TLS files reloaded');
      } catch (error) {
        if (signal.aborted) return;
        // A half-written pair is common and mends itself; the same complaint is made once.
        if (errorMessage(error) === complained) continue;
        complained = errorMessage(error);
        log.warn({ err: error }, 'TLS files not reloaded');
      }
    }
  }

  async #read(): Promise<SecureContextOptions> {
    const { tls, clientCaFile } = this.#names;
    const pair =
      tls === undefined
        ? this.#fallback
        : { cert: await read('--tls-cert-file', tls.certFile), key: await read('--tls-private-key-file', tls.keyFile) };
    const ca = clientCaFile === undefined ? [] : [await read('--client-ca-file', clientCaFile)];
    const options: SecureContextOptions = {
      ...pair,
      minVersion: 'TLSv1.2',
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
      const files = [tls?.certFile, tls?.keyFile, clientCaFile].filter((file) => file !== undefined).join(', ');
      throw new UsageError(`TLS files cannot be used (${files}): ${errorMessage(error)}`, { cause: error });
    }
    return options;
  }
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
