import { dirname, join, resolve } from 'node:path';
import { UsageError } from '../util/errors.ts';
import type { ClientCertificateConfig, KeyFiles, ServingConfig } from './config.ts';
import { given } from './environment.ts';
import type { NodeEntry } from './schema.ts';
import type { NodeSources } from './sources.ts';

/** Not the kubelet's folder: a real kubelet may live on this machine. */
const CERT_DIR = '/var/lib/outrigger/pki';

/** One folder per node where there are several. */
export function certDir(name: string, alone: boolean, { flags, environment }: NodeSources): string {
  const base = given(flags['cert-dir']) ? resolve(environment.cwd, flags['cert-dir']) : CERT_DIR;
  return alone ? base : join(base, name);
}

/** Nothing is made up in silence: an API server that verifies kubelets would refuse it, and nobody would know why. */
export function servingConfig(entry: NodeEntry, name: string, sources: NodeSources): ServingConfig {
  const { kubelet, flags } = sources;
  const files = keyFiles(entry, sources);
  const bootstrap = flags['rotate-server-certificates'] ?? kubelet.serverTLSBootstrap ?? false;
  if (bootstrap) return { type: 'requested', ...(files !== undefined && { initial: files }) };
  if (files !== undefined) return { type: 'files', ...files };
  if (flags['self-signed-serving-certificate'] ?? entry.selfSignedServingCertificate ?? false)
    return { type: 'selfSigned' };
  throw new UsageError(
    `node ${name}: no serving certificate: give --tls-cert-file and --tls-private-key-file, or ask the cluster's signer for one with --rotate-server-certificates (serverTLSBootstrap), or have one made that nobody can verify with --self-signed-serving-certificate`,
  );
}

export function clientCertificateConfig({ kubelet, flags, environment }: NodeSources): ClientCertificateConfig {
  const bootstrap = flags['bootstrap-kubeconfig'];
  const rotate = flags['rotate-certificates'] ?? kubelet.rotateCertificates ?? false;
  if (given(flags.kubeconfig)) {
    if (!given(bootstrap)) return { rotate };
    if (given(flags.context))
      throw new UsageError('--context: the file that --bootstrap-kubeconfig leads to has only one');
    return { rotate, bootstrapKubeconfig: resolve(environment.cwd, bootstrap) };
  }
  if (given(bootstrap)) throw new UsageError('--bootstrap-kubeconfig: needs --kubeconfig, the file that it leads to');
  if (rotate) throw new UsageError('--rotate-certificates (rotateCertificates): needs --kubeconfig');
  return { rotate };
}

/** Certificate and key come from the same layer; one without the other is a mistake. */
function keyFiles(entry: NodeEntry, { kubelet, flags, file, environment }: NodeSources): KeyFiles | undefined {
  const base = file.path === undefined ? '/' : dirname(file.path);
  const layers = [
    [
      flags['tls-cert-file'],
      flags['tls-private-key-file'],
      '--tls-private-key-file',
      '--tls-cert-file',
      environment.cwd,
    ],
    [entry.tlsCertFile, entry.tlsPrivateKeyFile, 'tlsPrivateKeyFile', 'tlsCertFile', base],
    [kubelet.tlsCertFile, kubelet.tlsPrivateKeyFile, 'tlsPrivateKeyFile', 'tlsCertFile', base],
  ] as const;
  for (const [cert, key, keyName, certName, folder] of layers) {
    if (given(cert) && given(key)) return { certFile: resolve(folder, cert), keyFile: resolve(folder, key) };
    if (given(cert)) throw new UsageError(`${keyName}: is missing beside ${certName} ${JSON.stringify(cert)}`);
    if (given(key)) throw new UsageError(`${certName}: is missing beside ${keyName} ${JSON.stringify(key)}`);
  }
  return undefined;
}
