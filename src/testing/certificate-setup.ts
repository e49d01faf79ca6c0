import { type KeyPair, parsePair } from '../certificates/pair.ts';
import type { CertificateRequest } from '../certificates/request.ts';
import type { CertificateTemplate } from '../certificates/template.ts';
import type { NewRequest, RequestRef, StoredRequest } from '../kube/certificates.ts';
import { makeAuthority, type TestAuthority } from './certificates.ts';

export const HOUR_MS = 3_600_000;

/** A signer in memory. The test decides what becomes of each request. */
export class FakeSigner {
  readonly authority: TestAuthority;
  /** In the order in which they were made. */
  readonly made: NewRequest[] = [];
  readonly #waiting = new Map<string, PromiseWithResolvers<string>>();
  /** Thrown at the next requests instead of taking them. */
  failure: Error | undefined;

  private constructor(authority: TestAuthority) {
    this.authority = authority;
  }

  static async start(): Promise<FakeSigner> {
    return new FakeSigner(await makeAuthority('signer'));
  }

  async create(request: NewRequest): Promise<StoredRequest> {
    if (this.failure !== undefined) throw this.failure;
    this.made.push(request);
    const name = request.name ?? `csr-${this.made.length}`;
    this.#waiting.set(name, Promise.withResolvers());
    const spec = { ...request, usages: [...request.usages], request: btoa(request.request) };
    return { metadata: { name, uid: `uid-${name}` }, spec };
  }

  async issued({ name }: RequestRef, { signal }: { readonly signal: AbortSignal }): Promise<string> {
    const waiting = this.#find(name);
    const onAbort = (): void => waiting.reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await waiting.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#waiting.delete(name);
    }
  }

  get waiting(): string[] {
    return [...this.#waiting.keys()];
  }

  sign(name: string, cert: string): void {
    this.#find(name).resolve(cert);
  }

  refuse(name: string, error: Error): void {
    this.#find(name).reject(error);
  }

  #find(name: string): PromiseWithResolvers<string> {
    const found = this.#waiting.get(name);
    if (found === undefined) throw new Error(`nobody waits for ${name}`);
    return found;
  }
}

/** Certificates whose keys are known beforehand, so that a test needs no real request: the next one made is the next one signed. */
export class Keyring {
  readonly #authority: TestAuthority;
  readonly #pairs: KeyPair[] = [];
  #next = 0;

  constructor(authority: TestAuthority) {
    this.#authority = authority;
  }

  async add(commonName: string, hosts: readonly string[], fromMs: number, untilMs: number): Promise<KeyPair> {
    const organizations = ['system:nodes'];
    const { cert, key } = await this.#authority.issue({
      commonName,
      organizations,
      hosts,
      usage: 'server',
      validity: { fromMs, untilMs },
    });
    const pair = parsePair(cert, key);
    this.#pairs.push(pair);
    return pair;
  }

  readonly makeRequest = async (template: CertificateTemplate): Promise<CertificateRequest> => {
    const pair = this.#pairs[this.#next++];
    return { request: JSON.stringify(template), key: pair?.key ?? 'a key' };
  };
}

/** In memory. */
export class FakeStore {
  pair: KeyPair | undefined;

  constructor(pair?: KeyPair) {
    this.pair = pair;
  }

  async current(): Promise<KeyPair | undefined> {
    return this.pair;
  }

  async update(cert: string, key: string): Promise<KeyPair> {
    this.pair = parsePair(cert, key);
    return this.pair;
  }
}
