import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RequestRefused } from '../kube/certificates.ts';
import { ApiUnreachable, KubeError } from '../kube/errors.ts';
import { FakeSigner, FakeStore, HOUR_MS, Keyring } from '../testing/certificate-setup.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import type { KeyPair } from './pair.ts';
import { ServingCertificate, type ServingEvent } from './serving.ts';
import type { NodeAddress } from './template.ts';

const NODE = 'system:node:n1';
const MINUTE_MS = 60_000;

let clock: FakeClock;
let signer: FakeSigner;
let keys: Keyring;
let stop: AbortController;
let running: Promise<void>;
let addresses: NodeAddress[];
let events: ServingEvent[];
let lines: string[];
let rotated: number[];
let failures: number;

beforeEach(async () => {
  clock = new FakeClock();
  signer = await FakeSigner.start();
  keys = new Keyring(signer.authority);
  stop = new AbortController();
  running = Promise.resolve();
  addresses = at('10.0.0.1');
  events = [];
  lines = [];
  rotated = [];
  failures = 0;
});
afterEach(async () => {
  stop.abort();
  await running;
});

function at(address: string): NodeAddress[] {
  return [
    { type: 'InternalIP', address },
    { type: 'Hostname', address: 'n1' },
  ];
}

/** Valid from a minute ago for so many minutes in all. */
const valid = (minutes: number, hosts = ['n1', '10.0.0.1']): Promise<KeyPair> =>
  keys.add(NODE, hosts, clock.now() - MINUTE_MS, clock.now() + (minutes - 1) * MINUTE_MS);

async function start(store = new FakeStore()): Promise<ServingCertificate> {
  const serving = new ServingCertificate({
    nodeName: 'n1',
    addresses: () => addresses,
    store,
    requests: signer,
    makeRequest: keys.makeRequest,
    event: (event) => events.push(event),
    metrics: { rotated: (age) => rotated.push(age), renewFailed: () => failures++ },
    clock,
    random: () => 0.5,
    log: recordedLog(lines),
  });
  await serving.load();
  running = serving.run({ signal: stop.signal });
  await settle();
  return serving;
}

describe('a node without a serving certificate', () => {
  it('asks for one, waits, and has it as soon as it is signed', async () => {
    const pair = await valid(24);
    const serving = await start();
    expect(serving.current).toBeUndefined();
    expect(serving.ttlSeconds()).toBe(Number.POSITIVE_INFINITY);
    expect(signer.made).toMatchObject([
      { signerName: 'kubernetes.io/kubelet-serving', usages: ['digital signature', 'server auth'] },
    ]);
    expect(signer.made[0]).not.toHaveProperty('name');
    let changes = 0;
    serving.onChange(() => changes++);
    signer.sign('csr-1', pair.cert);
    await settle();
    expect(changes).toBe(1);
    expect(serving.current?.cert).toBe(pair.cert);
    expect(serving.ttlSeconds()).toBe(23 * 60);
    expect(events).toEqual([]);
    expect(rotated).toEqual([]);
    expect(lines).toEqual(['info serving certificate issued']);
  });

  it('asks for nothing before it knows an address', async () => {
    addresses = [{ type: 'Hostname', address: 'n1' }];
    await start();
    await clock.advance(MINUTE_MS);
    expect(signer.made).toEqual([]);
    addresses = at('10.0.0.1');
    await clock.advance(1_000);
    expect(signer.made).toHaveLength(1);
  });

  it('says why nobody can talk to it after ten seconds, for each request, and in the log again each hour', async () => {
    await start();
    await clock.advance(9_000);
    expect(events).toEqual([]);
    await clock.advance(1_000);
    expect(events).toEqual([
      {
        type: 'Warning',
        reason: 'ServingCertificateNotIssued',
        message:
          'CertificateSigningRequest csr-1 is not approved or not signed yet; no serving certificate available for the kubelet: its API answers no TLS',
      },
    ]);
    const warning = 'warn no serving certificate available for the kubelet: its API answers no TLS';
    expect(lines).toEqual([warning]);
    await clock.advance(HOUR_MS + MINUTE_MS);
    expect(lines).toEqual([warning, warning]);
    expect(events).toHaveLength(5);
    expect(events.at(-1)?.message).toContain('CertificateSigningRequest csr-5 ');
  });

  it('makes a new request with a new key when one is not signed within 15 minutes', async () => {
    await start();
    await clock.advance(15 * MINUTE_MS - 1);
    expect(signer.made).toHaveLength(1);
    expect(failures).toBe(0);
    await clock.advance(1 + 2_200);
    expect(signer.made).toHaveLength(2);
    expect(failures).toBe(1);
    expect(signer.waiting).toEqual(['csr-2']);
  });

  it('tries again after a denial: 2, 4, 8, 16 and then each 32 seconds, with a little jitter', async () => {
    const denial = new RequestRefused('certificate signing request is denied, reason: No, message: not you');
    await start();
    const at: number[] = [];
    for (let count = 1; count <= 7; count++) {
      signer.refuse(`csr-${count}`, denial);
      const from = clock.now();
      while (signer.made.length === count) await clock.advance(100);
      at.push((clock.now() - from) / 1000);
    }
    expect(at.map(Math.floor)).toEqual([2, 4, 8, 16, 33, 33, 33]);
    expect(failures).toBe(7);
    // Told once, whatever the names of the requests are.
    expect(events.map(({ message }) => message)).toEqual([
      'certificate signing request is denied, reason: No, message: not you; no serving certificate available for the kubelet: its API answers no TLS',
    ]);
  });

  it('tells what the API server says when no request may be made, and goes on by itself', async () => {
    const pair = await valid(24);
    signer.failure = new KubeError(403, { message: 'csr is forbidden', reason: 'Forbidden' }, '');
    const serving = await start();
    await clock.advance(MINUTE_MS);
    expect(events.map(({ message }) => message.split(';')[0])).toEqual([
      'cannot create certificate signing request: csr is forbidden',
    ]);
    signer.failure = undefined;
    await clock.advance(36_000);
    expect(signer.waiting).toHaveLength(1);
    expect(pair.cert).toBeDefined();
    expect(serving.current).toBeUndefined();
  });
});

describe('a node with a serving certificate', () => {
  it('keeps it over a restart and asks for nothing', async () => {
    const serving = await start(new FakeStore(await valid(24)));
    await clock.advance(MINUTE_MS);
    expect(serving.current).toBeDefined();
    expect(signer.made).toEqual([]);
  });

  it('renews it after 80 % of its life, and serves the old one until then', async () => {
    const [old, next] = [await valid(10), await valid(100)];
    // The first pair is in the store: its key is not asked for again.
    await keys.makeRequest({} as never);
    const serving = await start(new FakeStore(old));
    await clock.advance(7 * MINUTE_MS - 1_000);
    expect(signer.made).toHaveLength(0);
    await clock.advance(2_000);
    expect(signer.made).toHaveLength(1);
    await clock.advance(10_000);
    expect(serving.current?.cert).toBe(old.cert);
    expect(events.map(({ message }) => message)).toEqual([
      'CertificateSigningRequest csr-1 is not approved or not signed yet; the serving certificate is not renewed yet',
    ]);
    signer.sign('csr-1', next.cert);
    await settle();
    expect(serving.current?.cert).toBe(next.cert);
    expect(rotated.map(Math.round)).toEqual([8 * 60 + 11]);
  });

  it('has none any more when it is expired', async () => {
    const serving = await start(new FakeStore(await valid(10)));
    await clock.advance(9 * MINUTE_MS + 1_000);
    expect(serving.current).toBeUndefined();
    expect(signer.waiting).toHaveLength(1);
  });

  it('asks for a new one when the node gets another address', async () => {
    const [old, next] = [await valid(24), await valid(24, ['n1', '10.0.0.2'])];
    await keys.makeRequest({} as never);
    const serving = await start(new FakeStore(old));
    addresses = at('10.0.0.2');
    await clock.advance(1_000);
    expect(JSON.parse(signer.made[0]?.request ?? '')).toMatchObject({ ipAddresses: ['10.0.0.2'] });
    signer.sign('csr-1', next.cert);
    await clock.advance(5_000);
    expect(serving.current?.cert).toBe(next.cert);
    expect(signer.made).toHaveLength(1);
  });

  it('gives up a request that waits when the node gets another address meanwhile', async () => {
    await start();
    addresses = at('10.0.0.3');
    await clock.advance(2_000);
    expect(signer.waiting).toEqual(['csr-2']);
    expect(JSON.parse(signer.made[1]?.request ?? '')).toMatchObject({ ipAddresses: ['10.0.0.3'] });
    expect(failures).toBe(0);
  });

  it('uses one that lacks a name, and asks again at the pace of failures', async () => {
    const poor = await valid(24, ['n1']);
    const serving = await start();
    signer.sign('csr-1', poor.cert);
    await settle();
    expect(serving.current?.cert).toBe(poor.cert);
    await clock.advance(2_200);
    expect(signer.made).toHaveLength(2);
    expect(events.map(({ message }) => message)).toEqual([
      'the issued certificate lacks names that were asked for; the serving certificate is not renewed yet',
    ]);
  });

  it('leaves aside files that are broken', async () => {
    const store = new FakeStore();
    store.current = () => Promise.reject(new Error('broken'));
    const serving = await start(store);
    expect(serving.current).toBeUndefined();
    expect(signer.waiting).toEqual(['csr-1']);
    expect(lines).toEqual(['warn stored certificate is left aside']);
  });
});

it('an API server that is away is told of once', async () => {
  signer.failure = new ApiUnreachable('connect ECONNREFUSED');
  await start();
  await clock.advance(10 * MINUTE_MS);
  expect(lines).toHaveLength(1);
});
