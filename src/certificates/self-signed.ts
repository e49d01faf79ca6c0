import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage, UsageError } from '../util/errors.ts';
import type { KeyPair } from './pair.ts';
import { readPair, writePrivate } from './store.ts';

export interface SelfSignedOptions {
  readonly dir: string;
  readonly nodeName: string;
  /** DNS names and addresses it answers to, besides the node's name. */
  readonly hosts: readonly string[];
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Logger, 'info' | 'warn'>;
}

/**
 * `<dir>/kubelet.crt` and `kubelet.key`, signed by themselves, for API servers that do not verify kubelets (reference 13.3).
 * Used again while they can be read and are valid, so that who has pinned the certificate finds it after a restart.
 */
export async function ensureSelfSigned(options: SelfSignedOptions): Promise<{ certFile: string; keyFile: string }> {
  const { dir, nodeName, hosts, clock, log } = options;
  const files = { certFile: join(dir, 'kubelet.crt'), keyFile: join(dir, 'kubelet.key') };
  const kept = await readPair(files.certFile, files.keyFile).catch((error: unknown) => {
    log.warn({ err: error }, 'self-signed certificate is made anew');
    return undefined;
  });
  if (!isValid(kept, clock.now())) {
    const { makeSelfSigned } = await import('./make-self-signed.ts');
    const { cert, key } = await makeSelfSigned(nodeName, hosts, clock.now());
    try {
      await mkdir(dir, { recursive: true, mode: 0o755 });
      await writePrivate(files.keyFile, key);
      await writePrivate(files.certFile, cert);
    } catch (error) {
      throw new UsageError(`--cert-dir ${dir}: ${errorMessage(error)}`, { cause: error });
    }
  }
  log.warn(files, 'the serving certificate is signed by itself: nobody can verify this node');
  return files;
}

function isValid(pair: KeyPair | undefined, nowMs: number): boolean {
  return pair !== undefined && nowMs < pair.notAfterMs;
}
