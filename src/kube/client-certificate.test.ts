import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { clientCertificateOf, RotatingCredentials, readClientPair, writeKubeconfig } from './client-certificate.ts';
import { loadKubeConfig } from './kubeconfig.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'client-certificate-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function bootstrapConfig(cluster: object = {}) {
  const file = join(dir, 'bootstrap.conf');
  writeFileSync(join(dir, 'ca.crt'), 'CA');
  const config = {
    'current-context': 'x',
    clusters: [
      { name: 'c', cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority': 'ca.crt', ...cluster } },
    ],
    users: [{ name: 'u', user: { token: 'secret' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  };
  writeFileSync(file, stringify(config));
  return loadKubeConfig({ file, flag: '--bootstrap-kubeconfig' });
}

it('the kubeconfig that a bootstrap leads to names the same cluster and the certificate, and no token', () => {
  const pem = join(dir, 'kubelet-client-current.pem');
  const file = join(dir, 'etc/kubelet.conf');
  writeKubeconfig(file, bootstrapConfig({ 'tls-server-name': 'api' }), pem);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(pem, 'both');
  const written = loadKubeConfig({ file });
  expect(written.getCurrentContext()).toBe('default-context');
  expect(written.getCurrentCluster()).toMatchObject({
    name: 'default-cluster',
    server: 'https://127.0.0.1:6443',
    caFile: join(dir, 'ca.crt'),
    tlsServerName: 'api',
  });
  expect(written.getCurrentUser()?.token).toBeUndefined();
  const source = clientCertificateOf(written);
  expect(source).toEqual({ type: 'files', certFile: pem, keyFile: pem });
  expect(source && readClientPair(source)).toEqual({ cert: 'both', key: 'both' });
});

it('a kubeconfig that cannot be written is a mistake in its flag', () => {
  expect(() => writeKubeconfig(join(dir, 'ca.crt/x'), bootstrapConfig(), 'pem')).toThrow(
    /^--kubeconfig .*ca\.crt\/x: /,
  );
});

it('complaints about the bootstrap kubeconfig name its flag', () => {
  expect(() => loadKubeConfig({ file: join(dir, 'none'), flag: '--bootstrap-kubeconfig' })).toThrow(
    /^--bootstrap-kubeconfig .*none: ENOENT/,
  );
});

it('a rotating certificate is what counts, never the credentials of the file', async () => {
  let current: { cert: string; key: string } | undefined;
  const credentials = new RotatingCredentials(bootstrapConfig(), () => current);
  const options = async (): Promise<https.RequestOptions> => {
    const result: https.RequestOptions = {};
    await credentials.applyToHTTPSOptions(result);
    return result;
  };
  expect((await options()).headers).toEqual({});
  expect(await options()).not.toHaveProperty('cert');
  current = { cert: 'CERT', key: 'KEY' };
  const { cert, key, ca } = await options().catch((error: unknown) => {
    throw error;
  });
  expect([cert, key, ca].map(String)).toEqual(['CERT', 'KEY', 'CA']);
  expect(credentials.getCurrentCluster()?.server).toBe('https://127.0.0.1:6443');
});
