import type { V1CertificateSigningRequest } from '@kubernetes/client-node';
import type { Json } from '../model/pod.ts';
import { ChildAbort } from '../util/abort.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** As the API server sends it; `spec.request` and `status.certificate` are base64 of PEM. */
export type StoredRequest = Omit<Json<V1CertificateSigningRequest>, 'metadata'> & {
  metadata: { name: string; uid: string; resourceVersion?: string; managedFields?: never[] };
};

export interface NewRequest {
  /** Absent: the server makes one up that begins with `csr-`. */
  readonly name?: string;
  readonly signerName: string;
  /** PEM. */
  readonly request: string;
  readonly usages: readonly string[];
}

export interface RequestRef {
  readonly name: string;
  readonly uid: string;
}

/** The signer or whoever approves said no; `message` as the kubelet has it. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';
}

interface Options {
  readonly signal: AbortSignal;
}

export type RequestApiOptions = Pick<ReflectorOptions<StoredRequest>, 'client' | 'clock' | 'log' | 'random'>;

/** CertificateSigningRequests as the one who asks uses them. There is no way here to approve one: others decide that. */
export class CertificateRequestApi {
  readonly #options: RequestApiOptions;

  constructor(options: RequestApiOptions) {
    this.#options = options;
  }

  /** Rejects with a KubeError of status 409 when there is one of that name. */
  create({ name, signerName, request, usages }: NewRequest, { signal }: Options): Promise<StoredRequest> {
    const body = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: name === undefined ? { generateName: 'csr-' } : { name },
      spec: { request: Buffer.from(request).toString('base64'), signerName, usages },
    };
    return this.#options.client.request<StoredRequest>({ method: 'POST', path: PATH, body, signal });
  }

  get(name: string, { signal }: Options): Promise<StoredRequest> {
    const path = `${PATH}/${encodeURIComponent(name)}`;
    return this.#options.client.request<StoredRequest>({ method: 'GET', path, signal });
  }

  /** The issued certificate (PEM). Rejects with RequestRefused, or with the signal's reason. */
  async issued({ name, uid }: RequestRef, { signal }: Options): Promise<string> {
    using life = new ChildAbort(signal);
    const result = Promise.withResolvers<string>();
    let seen = false;
    const reflector = new Reflector<StoredRequest>({
      ...this.#options,
      name: `certificate signing request ${name}`,
      path: PATH,
      fieldSelector: `metadata.name=${name}`,
      handler: ({ type, object }) => {
        if (object.metadata.uid !== uid) result.reject(new RequestRefused(`csr "${name}" changed UIDs`));
        else if (type === 'deleted') result.reject(new RequestRefused(`csr "${name}" was deleted`));
        else settle(object, result);
        seen = true;
      },
    });
    // Never rejects; the first list is of the time after the creation.
    void reflector.synced.then(() => {
      if (!seen) result.reject(new RequestRefused(`csr "${name}" was deleted`));
    });
    const onAbort = (): void => result.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    // The handler throws nothing: the run ends with the signal only.
    const run = reflector.run({ signal: life.signal });
    try {
      return await result.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      life.abort();
      await run;
    }
  }
}

/** A refusal counts more than an approval; a certificate counts only once approved (reference 13.2). */
function settle({ status }: StoredRequest, result: PromiseWithResolvers<string>): void {
  const conditions = status?.conditions ?? [];
  for (const { type, reason, message } of conditions) {
    const words = type === 'Denied' ? 'is denied' : type === 'Failed' ? 'failed' : undefined;
    if (words === undefined) continue;
    const why = `reason: ${reason ?? ''}, message: ${message ?? ''}`;
    result.reject(new RequestRefused(`certificate signing request ${words}, ${why}`));
    return;
  }
  const certificate = status?.certificate ?? '';
  if (certificate !== '' && conditions.some(({ type }) => type === 'Approved'))
    result.resolve(Buffer.from(certificate, 'base64').toString('utf8'));
}
