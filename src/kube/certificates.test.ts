import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.ts';
import { FakeKube, list } from '../testing/fake-kube.ts';
import { silentLog } from '../testing/silent-log.ts';
import { CertificateRequestApi } from './certificates.ts';
import { ApiClient } from './client.ts';

let kube: FakeKube;
let client: ApiClient;
let api: CertificateRequestApi;
const { signal } = new AbortController();
const ref = { name: 'csr-1', uid: 'u' };

beforeEach(async () => {
  kube = await FakeKube.start();
  const clock = new FakeClock();
  client = new ApiClient({ credentials: kube.credentials, clock });
  api = new CertificateRequestApi({ client, clock, log: silentLog(), random: () => 0.5 });
});
afterEach(async () => {
  client.close();
  await kube.stop();
});

function request(conditions: readonly object[] = [], certificate?: string, uid = 'u') {
  const status = { conditions, ...(certificate !== undefined && { certificate: btoa(certificate) }) };
  return { metadata: { name: 'csr-1', uid, resourceVersion: `${Math.random()}` }, spec: {}, status };
}

it('asks with exactly the fields that the kubelet sends', async () => {
  kube.answer = ({ body }) => ({ status: 201, body });
  const asked = { signerName: 'kubernetes.io/kubelet-serving', request: 'PEM', usages: ['digital signature'] };
  await api.create(asked, { signal });
  await api.create({ ...asked, name: 'node-csr-x' }, { signal });
  expect(kube.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(
    Array(2).fill('POST /apis/certificates.k8s.io/v1/certificatesigningrequests'),
  );
  expect(kube.requests.map(({ body }) => body)).toEqual(
    [{ generateName: 'csr-' }, { name: 'node-csr-x' }].map((metadata) => ({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata,
      spec: { request: 'UEVN', signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature'] },
    })),
  );
});

describe('an issued certificate', () => {
  it('is one that was approved as well', async () => {
    kube.answer = ({ query }) => (query.has('watch') ? 'watch' : list('1', [request()]));
    const issued = api.issued(ref, { signal });
    const watch = await kube.nextWatch();
    expect(watch.request.query.get('fieldSelector')).toBe('metadata.name=csr-1');
    watch.send('MODIFIED', request([], 'too early'));
    watch.send('MODIFIED', request([{ type: 'Approved' }]));
    watch.send('MODIFIED', request([{ type: 'Approved' }], 'PEM'));
    expect(await issued).toBe('PEM');
  });

  it.each<[string, object[], string]>([
    [
      'denied',
      [request([{ type: 'Approved' }, { type: 'Denied', reason: 'No', message: 'not you' }], 'PEM')],
      'certificate signing request is denied, reason: No, message: not you',
    ],
    [
      'failed',
      [request([{ type: 'Failed', reason: 'SignerValidationFailure', message: 'bad' }])],
      'certificate signing request failed, reason: SignerValidationFailure, message: bad',
    ],
    ['deleted', [], 'csr "csr-1" was deleted'],
    ['deleted and made anew', [request([{ type: 'Approved' }], 'PEM', 'other')], 'csr "csr-1" changed UIDs'],
  ])('does not come from a request that is %s', async (_title, items, message) => {
    kube.answer = ({ query }) => (query.has('watch') ? 'watch' : list('1', items));
    await expect(api.issued(ref, { signal })).rejects.toThrow(message);
  });

  it('is waited for until the signal aborts, and then nobody asks any more', async () => {
    kube.answer = ({ query }) => (query.has('watch') ? 'watch' : list('1', [request()]));
    const stop = new AbortController();
    const issued = api.issued(ref, { signal: stop.signal });
    await kube.nextWatch();
    stop.abort(new Error('enough'));
    await expect(issued).rejects.toThrow('enough');
  });
});
