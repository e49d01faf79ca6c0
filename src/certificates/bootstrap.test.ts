import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { NewRequest, StoredRequest } from '../kube/certificates.ts';
import { KubeError } from '../kube/errors.ts';
import { FakeSigner } from '../testing/certificate-setup.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { until } from '../testing/fake-kube.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { bootstrapOnce } from './bootstrap.ts';
import { makeRequest, newKey, requestName } from './request.ts';
import { CertificateStore } from './store.ts';
import { clientTemplate } from './template.ts';

let dir: string;
let clock: FakeClock;
let signer: FakeSigner;
let stop: AbortController;
let store: CertificateStore;
/** There already when the node asks. */
let existing: StoredRequest | undefined;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'outrigger-bootstrap-'));
  clock = new FakeClock();
  signer = await FakeSigner.start();
  stop = new AbortController();
  store = new CertificateStore({ dir, prefix: 'kubelet-client' });
  existing = undefined;
});
afterEach(async () => {
  stop.abort();
  await rm(dir, { recursive: true });
});

const keyFile = (): string => join(dir, 'kubelet-client.key.tmp');

function run(): Promise<void> {
  return bootstrapOnce({
    dir,
    nodeName: 'n1',
    store,
    requests: {
      create: async (request: NewRequest) => {
        const stored = await signer.create(request);
        if (existing !== undefined) throw new KubeError(409, { reason: 'AlreadyExists' }, '');
        return stored;
      },
      get: async () => existing ?? Promise.reject(new Error('there is none')),
      issued: (ref, options) => signer.issued(ref, options),
    },
    clock,
    log: recordedLog([]),
    signal: stop.signal,
  });
}

/** A certificate for the key of the request that waits. */
async function signFor(key: string): Promise<string> {
  return (await signer.authority.issue({ commonName: 'system:node:n1', organizations: ['system:nodes'], key })).cert;
}

it('asks under a name that follows from its key, and keeps the key only until it has the certificate', async () => {
  const done = run();
  await until(() => signer.waiting.length === 1);
  const key = await readFile(keyFile(), 'utf8');
  expect((await stat(keyFile())).mode & 0o777).toBe(0o600);
  const name = requestName(key, clientTemplate('n1'));
  expect(signer.waiting).toEqual([name]);
  signer.sign(name, await signFor(key));
  await done;
  await expect(stat(keyFile())).rejects.toThrow('ENOENT');
  expect((await store.current())?.key).toBe(key);
});

it('finds its request again after a restart', async () => {
  const key = newKey();
  await writeFile(keyFile(), key);
  const template = clientTemplate('n1');
  const { request } = await makeRequest(template, key);
  const name = requestName(key, template);
  existing = {
    metadata: { name, uid: 'u' },
    spec: { request: btoa(request), signerName: template.signerName, usages: [...template.usages] },
  };
  const done = run();
  await until(() => signer.waiting.length === 1);
  signer.sign(name, await signFor(key));
  await done;
  expect((await store.current())?.key).toBe(key);
});

it('does not take the request of somebody else', async () => {
  const { request } = await makeRequest(clientTemplate('n1'));
  existing = {
    metadata: { name: 'x', uid: 'u' },
    spec: { request: btoa(request), signerName: clientTemplate('n1').signerName },
  };
  await expect(run()).rejects.toThrow('retrieved csr is not compatible: it is for another key');
});

it('gives up after an hour, and keeps the key for the next start', async () => {
  const done = run();
  done.catch(() => {}); // looked at below
  await until(() => signer.waiting.length === 1);
  await clock.advance(3_600_000);
  await expect(done).rejects.toThrow(/was not signed within an hour/);
  expect(await readFile(keyFile(), 'utf8')).toContain('PRIVATE KEY');
});
