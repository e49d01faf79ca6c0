import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiUnreachable, KubeError } from '../kube/errors.ts';
import { FakeSigner, FakeStore, HOUR_MS, Keyring } from '../testing/certificate-setup.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { ClientCertificate, type ClientCertificateOptions } from './client.ts';
import type { KeyPair } from './pair.ts';

let clock: FakeClock;
let signer: FakeSigner;
let keys: Keyring;
let stop: AbortController;
let lines: string[];
/** Common name of the certificate under which each request was made; empty: under the first credentials. */
let askedAs: (string | undefined)[];
let outcome: unknown;

beforeEach(async () => {
  clock = new FakeClock();
  signer = await FakeSigner.start();
  keys = new Keyring(signer.authority);
  stop = new AbortController();
  lines = [];
  askedAs = [];
  outcome = 'runs';
});
afterEach(() => stop.abort());

const valid = (hours: number): Promise<KeyPair> =>
  keys.add('system:node:n1', [], clock.now() - HOUR_MS, clock.now() + (hours - 1) * HOUR_MS);

async function start(options: Partial<ClientCertificateOptions> = {}): Promise<ClientCertificate> {
  const client = new ClientCertificate({
    nodeName: 'n1',
    store: new FakeStore(),
    requests: (current) => {
      askedAs.push(current?.subject.commonName);
      return signer;
    },
    makeRequest: keys.makeRequest,
    clock,
    random: () => 0.5,
    log: recordedLog(lines),
    ...options,
  });
  await client.load();
  client.run({ signal: stop.signal }).then(
    () => {
      outcome = 'ended';
    },
    (error: unknown) => {
      outcome = error;
    },
  );
  await settle();
  return client;
}

describe('the client certificate', () => {
  it('is asked for under the first credentials, and from then on under itself', async () => {
    const [first, second] = [await valid(10), await valid(100)];
    const client = await start();
    let available = false;
    void client.available({ signal: stop.signal }).then(() => {
      available = true;
    });
    await clock.advance(1_000);
    expect(available).toBe(false);
    expect(signer.made).toMatchObject([
      { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['digital signature', 'client auth'] },
    ]);
    signer.sign('csr-1', first.cert);
    await settle();
    expect(available).toBe(true);
    await clock.advance(7 * HOUR_MS + 10_000);
    signer.sign('csr-2', second.cert);
    await settle();
    expect(client.current?.cert).toBe(second.cert);
    expect(askedAs).toEqual([undefined, 'system:node:n1']);
    expect(client.ttlSeconds()).toBeGreaterThan(80 * 3600);
  });

  it('that the kubeconfig holds is kept and replaced at once, as kubeadm wants it', async () => {
    const pair = await keys.add('system:node:n1', [], clock.now() - HOUR_MS, clock.now() + 100 * HOUR_MS);
    const store = new FakeStore();
    const client = await start({ store, bootstrap: pair });
    expect(store.pair?.cert).toBe(pair.cert);
    expect(client.current?.cert).toBe(pair.cert);
    expect(signer.waiting).toEqual(['csr-1']);
  });

  it('is there at once after a restart', async () => {
    const client = await start({ store: new FakeStore(await valid(24)) });
    await client.available({ signal: stop.signal });
    expect(signer.made).toEqual([]);
  });
});

describe('the process', () => {
  it('ends when the certificate has expired although the API server answers', async () => {
    const client = await start({ store: new FakeStore(await valid(10)) });
    signer.failure = new KubeError(403, { message: 'no', reason: 'Forbidden' }, '');
    await clock.advance(9 * HOUR_MS - 60_000);
    expect(outcome).toBe('runs');
    await clock.advance(2 * 60_000);
    expect(client.current).toBeUndefined();
    expect(outcome).toMatchObject({ message: expect.stringContaining('no valid client certificate') });
  });

  it('goes on while the API server does not answer, and ends once it does', async () => {
    await start({ store: new FakeStore(await valid(10)) });
    signer.failure = new ApiUnreachable('connect ECONNREFUSED');
    await clock.advance(12 * HOUR_MS);
    expect(outcome).toBe('runs');
    expect(lines).toEqual([
      'warn no client certificate yet',
      'error the client certificate has expired, and the API server does not answer',
    ]);
    signer.failure = new KubeError(401, { message: 'Unauthorized', reason: 'Unauthorized' }, '');
    await clock.advance(60_000);
    expect(outcome).toBeInstanceOf(Error);
  });

  it('ends when it gets none for five minutes because the first credentials are refused', async () => {
    signer.failure = new KubeError(401, { message: 'Unauthorized', reason: 'Unauthorized' }, '');
    await start();
    await clock.advance(4 * 60_000);
    expect(outcome).toBe('runs');
    await clock.advance(70_000);
    expect(outcome).toBeInstanceOf(Error);
  });

  it('waits as long as it takes while a request waits for approval', async () => {
    await start();
    await clock.advance(2 * HOUR_MS);
    expect(outcome).toBe('runs');
    stop.abort();
    await settle();
    expect(outcome).toBe('ended');
  });
});
