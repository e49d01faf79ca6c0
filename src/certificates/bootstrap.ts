import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateRequestApi, RequestRef } from '../kube/certificates.ts';
import { isConflict } from '../kube/errors.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { parsePair } from './pair.ts';
import type { CertificateStore } from './store.ts';
import { unlessMissing, writePrivate } from './store.ts';
import { clientTemplate } from './template.ts';

const ISSUE_TIMEOUT_MS = 3_600_000;

export interface BootstrapOptions {
  readonly dir: string;
  readonly nodeName: string;
  readonly store: Pick<CertificateStore, 'current' | 'update'>;
  /** Under the bootstrap credentials. */
  readonly requests: Pick<CertificateRequestApi, 'create' | 'get' | 'issued'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info'>;
  readonly signal: AbortSignal;
}

/**
 * Gets one client certificate, without rotation (reference 13.1). The key is kept until then, so that after a restart the same
 * request is found again instead of a new one for somebody to approve. Rejects when it is refused, or not there within an hour.
 */
export async function bootstrapOnce(options: BootstrapOptions): Promise<void> {
  const { dir, nodeName, store, requests, clock, log, signal } = options;
  const { incompatibility, isUsableKey, makeRequest, newKey, requestName } = await import('./request.ts');
  const keyFile = join(dir, 'kubelet-client.key.tmp');
  const template = clientTemplate(nodeName);
  const kept = (await store.current().catch(() => undefined))?.key ?? (await unlessMissing(readFile(keyFile, 'utf8')));
  const key = kept !== undefined && isUsableKey(kept) ? kept : newKey();
  if (key !== kept) {
    await mkdir(dir, { recursive: true, mode: 0o755 });
    await writePrivate(keyFile, key);
  }
  const { request } = await makeRequest(template, key);
  const { signerName, usages } = template;
  const name = requestName(key, template);
  const ref = await requests
    .create({ name, signerName, request, usages }, { signal })
    .then(({ metadata }): RequestRef => metadata)
    .catch(async (error: unknown): Promise<RequestRef> => {
      if (!isConflict(error)) throw cannot('create', error);
      const existing = await requests.get(name, { signal });
      const problem =
        existing.spec.signerName === signerName
          ? incompatibility(Buffer.from(existing.spec.request, 'base64').toString('utf8'), key, template)
          : 'its signer is another one';
      const certificate = Buffer.from(existing.status?.certificate ?? '', 'base64').toString('utf8');
      const expired = certificate !== '' && parsePair(certificate, key).notAfterMs < clock.now();
      if (problem !== undefined || expired)
        throw new Error(`retrieved csr is not compatible: ${problem ?? 'its certificate has expired'}`);
      return existing.metadata;
    });
  log.info({ request: ref.name }, 'client certificate asked for');
  using life = new ChildAbort(signal);
  const cancel = clock.timer(ISSUE_TIMEOUT_MS, () =>
    life.abort(new Error(`certificate signing request ${ref.name} was not signed within an hour`)),
  );
  try {
    await store.update(await requests.issued(ref, { signal: life.signal }), key, clock.now());
  } finally {
    cancel();
  }
  await rm(keyFile, { force: true });
}

function cannot(what: string, error: unknown): Error {
  return new Error(`cannot ${what} certificate signing request: ${errorMessage(error)}`, { cause: error });
}
