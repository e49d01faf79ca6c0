import { mkdtemp, readdir, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { makeAuthority, type TestAuthority } from '../testing/certificates.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { ensureSelfSigned } from './self-signed.ts';
import { CertificateStore, readPair } from './store.ts';

const NOW = Date.parse('2026-01-02T03:04:05Z');

let authority: TestAuthority;
let dir: string;

beforeAll(async () => {
  authority = await makeAuthority('ca');
});
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'outrigger-store-')), 'pki');
});
afterEach(() => rm(join(dir, '..'), { recursive: true }));

const pair = (commonName: string) => authority.issue({ commonName });

it('keeps the pair in one file that only the owner reads, behind a link', async () => {
  const store = new CertificateStore({ dir, prefix: 'kubelet-client' });
  expect(await store.current()).toBeUndefined();
  const { cert, key } = await pair('one');
  await store.update(cert, key, NOW);
  expect((await readdir(dir)).sort()).toEqual(['kubelet-client-2026-01-02-03-04-05.pem', 'kubelet-client-current.pem']);
  expect(await readlink(store.currentPath)).toBe(join(dir, 'kubelet-client-2026-01-02-03-04-05.pem'));
  expect((await stat(store.currentPath)).mode & 0o777).toBe(0o600);
  expect(await readFile(store.currentPath, 'utf8')).toBe(`${cert.trim()}\n${key.trim()}\n`);
});

it('is found again by the next process, and a newer pair takes its place and its file away', async () => {
  const first = await pair('one');
  await new CertificateStore({ dir, prefix: 'kubelet-server' }).update(first.cert, first.key, NOW);
  const store = new CertificateStore({ dir, prefix: 'kubelet-server' });
  expect((await store.current())?.subject.commonName).toBe('one');
  const second = await pair('two');
  await store.update(second.cert, second.key, NOW + 60_000);
  expect((await store.current())?.subject.commonName).toBe('two');
  expect((await readdir(dir)).sort()).toEqual(['kubelet-server-2026-01-02-03-05-05.pem', 'kubelet-server-current.pem']);
  // Twice in the same second.
  const third = await pair('three');
  await store.update(third.cert, third.key, NOW + 60_000);
  expect((await store.current())?.subject.commonName).toBe('three');
});

it('leaves the current pair alone when the new one does not fit together', async () => {
  const store = new CertificateStore({ dir, prefix: 'kubelet-client' });
  const good = await pair('one');
  await store.update(good.cert, good.key, NOW);
  const other = await pair('two');
  await expect(store.update(other.cert, good.key, NOW + 1000)).rejects.toThrow('does not belong');
  expect((await store.current())?.subject.commonName).toBe('one');
});

it('goes on where a kubelet ended between writing and switching', async () => {
  const store = new CertificateStore({ dir, prefix: 'kubelet-client' });
  const { cert, key } = await pair('one');
  await store.update(cert, key, NOW);
  await rename(store.currentPath, join(dir, 'kubelet-client-updated.pem'));
  expect((await store.current())?.subject.commonName).toBe('one');
});

it('does not replace a file where the link should be', async () => {
  const store = new CertificateStore({ dir, prefix: 'kubelet-client' });
  const { cert, key } = await pair('one');
  await store.update(cert, key, NOW);
  await rm(store.currentPath);
  await writeFile(store.currentPath, cert + key);
  await expect(store.update(cert, key, NOW + 1000)).rejects.toThrow('is a file, not a link');
});

it('does not remove a file that it did not write', async () => {
  const store = new CertificateStore({ dir, prefix: 'kubelet-client' });
  const { cert, key } = await pair('one');
  const elsewhere = join(dir, '..', 'mine.pem');
  await writeFile(elsewhere, cert + key);
  await store.update(cert, key, NOW);
  await rm(store.currentPath);
  await symlink(elsewhere, store.currentPath);
  await store.update(cert, key, NOW + 1000);
  expect((await stat(elsewhere)).isFile()).toBe(true);
});

it('begins with files that are given, until there is a pair of its own', async () => {
  const initial = { certFile: join(dir, '../tls.crt'), keyFile: join(dir, '../tls.key') };
  const store = new CertificateStore({ dir, prefix: 'kubelet-server', initial });
  expect(await store.current()).toBeUndefined();
  const given = await pair('given');
  await writeFile(initial.certFile, given.cert);
  await writeFile(initial.keyFile, given.key);
  expect((await store.current())?.subject.commonName).toBe('given');
  const issued = await pair('issued');
  await store.update(issued.cert, issued.key, NOW);
  expect((await store.current())?.subject.commonName).toBe('issued');
});

it('a self-signed certificate names the node, is used again while it is valid, and is warned of', async () => {
  const lines: string[] = [];
  const log = recordedLog(lines);
  const options = { dir, nodeName: 'n1', hosts: ['n1', 'n1.example', '127.0.0.1', '::1'], log };
  const first = await ensureSelfSigned({ ...options, clock: { now: () => NOW } });
  const made = await readPair(first.certFile, first.keyFile);
  expect(made?.certificate.subjectAltName).toBe(
    'DNS:n1, DNS:n1.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
  );
  expect(made?.certificate.verify(made.certificate.publicKey)).toBe(true);
  expect(made && made.notAfterMs - NOW).toBe(365 * 86_400_000);
  expect((await stat(first.keyFile)).mode & 0o777).toBe(0o600);
  expect(lines).toEqual(['warn the serving certificate is signed by itself: nobody can verify this node']);

  await ensureSelfSigned({ ...options, clock: { now: () => NOW + 300 * 86_400_000 } });
  expect((await readPair(first.certFile, first.keyFile))?.cert).toBe(made?.cert);
  await ensureSelfSigned({ ...options, clock: { now: () => NOW + 366 * 86_400_000 } });
  const renewed = await readPair(first.certFile, first.keyFile);
  expect(renewed?.cert).not.toBe(made?.cert);
  await writeFile(first.keyFile, 'broken');
  await ensureSelfSigned({ ...options, clock: { now: () => NOW + 366 * 86_400_000 } });
  expect((await readPair(first.certFile, first.keyFile))?.cert).not.toBe(renewed?.cert);
});

it('a folder that cannot be written is a mistake in --cert-dir', async () => {
  await writeFile(join(dir, '../file'), '');
  const options = { nodeName: 'n1', hosts: [], log: recordedLog([]), clock: { now: () => NOW } };
  await expect(ensureSelfSigned({ ...options, dir: join(dir, '../file/pki') })).rejects.toThrow(
    /^--cert-dir .*ENOTDIR/,
  );
});
