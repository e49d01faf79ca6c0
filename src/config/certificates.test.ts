import { describe, expect, it } from 'vitest';
import { complaint, kubeletFile, load, onlyNode, outriggerFile } from '../testing/config-files.ts';

const FILES = { 'tls-cert-file': 'tls.crt', 'tls-private-key-file': 'tls.key' };
const KEY_FILES = { certFile: '/etc/o/tls.crt', keyFile: '/etc/o/tls.key' };

describe('the serving certificate', () => {
  it('has to come from somewhere', async () => {
    expect(await complaint({ 'self-signed-serving-certificate': 'false' })).toMatch(
      /^node box\.example: no serving certificate: give --tls-cert-file .* --rotate-server-certificates .* --self-signed-serving-certificate$/,
    );
  });

  it.each<[string, Record<string, string>, object]>([
    ['files', FILES, { type: 'files', ...KEY_FILES }],
    ['the cluster', { 'rotate-server-certificates': 'true' }, { type: 'requested' }],
    [
      'the cluster, and until then files',
      { 'rotate-server-certificates': 'true', ...FILES },
      { type: 'requested', initial: KEY_FILES },
    ],
    ['nobody', { 'self-signed-serving-certificate': 'true' }, { type: 'selfSigned' }],
  ])('comes from %s', async (_title, flags, serving) => {
    expect((await onlyNode(flags)).serving).toEqual(serving);
  });

  it('is a matter of each node, where the file says nothing for all', async () => {
    const nodes = 'nodes: [{name: a, provider: fake, selfSignedServingCertificate: true}, {name: b, provider: fake}]';
    const flags = { config: 'c.yaml', 'self-signed-serving-certificate': 'false' };
    expect(await complaint(flags, outriggerFile(nodes))).toContain('node a: no serving certificate');
    const { nodes: all } = await load({ config: 'c.yaml', 'cert-dir': 'pki' }, outriggerFile(nodes));
    expect(all.map(({ serving, certDir }) => [serving.type, certDir])).toEqual([
      ['selfSigned', '/etc/o/pki/a'],
      ['selfSigned', '/etc/o/pki/b'],
    ]);
  });

  it('reads fields of the file, flags win', async () => {
    const file = kubeletFile('serverTLSBootstrap: true\nrotateCertificates: true\ntlsMinVersion: VersionTLS13');
    const config = await load({ config: 'c.yaml', kubeconfig: 'kube.conf' }, file);
    expect(config).toMatchObject({
      clientCertificate: { rotate: true },
      tls: { minVersion: 'TLSv1.3' },
      nodes: [{ serving: { type: 'requested' } }],
    });
    const flags = { 'rotate-server-certificates': 'false', 'rotate-certificates': 'false', 'tls-min-version': '' };
    expect(await load({ config: 'c.yaml', kubeconfig: 'kube.conf', ...flags }, file)).toMatchObject({
      clientCertificate: { rotate: false },
      tls: { minVersion: 'TLSv1.2' },
      nodes: [{ serving: { type: 'selfSigned' } }],
    });
  });
});

describe('the client certificate', () => {
  it('may be still to come: then only the bootstrap kubeconfig has to be there', async () => {
    const flags = { kubeconfig: 'new.conf', 'bootstrap-kubeconfig': 'kube.conf', 'rotate-certificates': 'true' };
    expect(await load(flags)).toMatchObject({
      kubeconfig: '/etc/o/new.conf',
      clientCertificate: { rotate: true, bootstrapKubeconfig: '/etc/o/kube.conf' },
    });
    expect(await complaint({ ...flags, 'bootstrap-kubeconfig': 'none.conf' })).toMatch(
      /^--bootstrap-kubeconfig: .*none\.conf cannot be read/,
    );
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ 'bootstrap-kubeconfig': 'kube.conf' }, /^--bootstrap-kubeconfig: needs --kubeconfig/],
    [{ 'rotate-certificates': 'true' }, /^--rotate-certificates \(rotateCertificates\): needs --kubeconfig$/],
    [{ kubeconfig: 'kube.conf', context: 'x', 'bootstrap-kubeconfig': 'kube.conf' }, /^--context: /],
  ])('%j is refused', async (flags, message) => {
    expect(await complaint(flags)).toMatch(message);
  });

  it('is of one node', async () => {
    const file = outriggerFile('nodes: [{name: a, provider: fake}, {name: b, provider: fake}]');
    const flags = { config: 'c.yaml', kubeconfig: 'kube.conf' };
    expect(await complaint({ ...flags, 'rotate-certificates': 'true' }, file)).toBe(
      '--rotate-certificates (rotateCertificates): a client certificate is of one node, and there are 2',
    );
    expect(await complaint({ ...flags, 'bootstrap-kubeconfig': 'kube.conf' }, file)).toBe(
      '--bootstrap-kubeconfig: a client certificate is of one node, and there are 2',
    );
  });
});
