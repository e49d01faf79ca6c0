import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type https from 'node:https';
import { dirname } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { stringify } from 'yaml';
import { errorMessage, UsageError } from '../util/errors.ts';
import type { Credentials } from './connection.ts';

/** PEM texts. */
export interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

export type ClientCertificateSource =
  | { readonly type: 'inline'; readonly pair: ClientPair }
  | { readonly type: 'files'; readonly certFile: string; readonly keyFile: string };

/** The client certificate that a kubeconfig names or holds, if it does. */
export function clientCertificateOf(config: KubeConfig): ClientCertificateSource | undefined {
  const { certFile, keyFile, certData, keyData } = config.getCurrentUser() ?? {};
  if (certFile && keyFile) return { type: 'files', certFile, keyFile };
  if (!certData || !keyData) return undefined;
  const text = (data: string): string => Buffer.from(data, 'base64').toString('utf8');
  return { type: 'inline', pair: { cert: text(certData), key: text(keyData) } };
}

/** The cluster of a kubeconfig under a client certificate that changes; without one, under nobody's name. */
export class RotatingCredentials implements Credentials {
  readonly #base: KubeConfig;
  readonly #current: () => ClientPair | undefined;

  constructor(base: KubeConfig, current: () => ClientPair | undefined) {
    this.#base = base;
    this.#current = current;
  }

  getCurrentCluster(): ReturnType<KubeConfig['getCurrentCluster']> {
    return this.#base.getCurrentCluster();
  }

  async applyToHTTPSOptions(options: https.RequestOptions): Promise<void> {
    await this.#config().applyToHTTPSOptions(options);
  }

  /** Made anew, as the library hides certificates in the agent that goes through a proxy. */
  #config(): KubeConfig {
    const pair = this.#current();
    const cluster = this.getCurrentCluster();
    if (cluster === null) throw new Error('no cluster in the kubeconfig');
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const user = { name: 'node', ...(pair && { certData: base64(pair.cert), keyData: base64(pair.key) }) };
    const config = new KubeConfig();
    config.loadFromClusterAndUser(cluster, user);
    return config;
  }
}

/**
 * Where a node finds its certificate from now on: the cluster of the bootstrap kubeconfig, and a user whose certificate and key
 * are in `pemPath` (reference 13.1). References, so that rotation needs no other file.
 */
export function writeKubeconfig(file: string, bootstrap: KubeConfig, pemPath: string): void {
  const cluster = bootstrap.getCurrentCluster();
  if (cluster === null) throw new Error('no cluster in the bootstrap kubeconfig');
  const { server, caFile, caData, skipTLSVerify, tlsServerName, proxyUrl } = cluster;
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'default-cluster',
        cluster: {
          server,
          ...(caFile ? { 'certificate-authority': caFile } : caData ? { 'certificate-authority-data': caData } : {}),
          ...(skipTLSVerify ? { 'insecure-skip-tls-verify': true } : {}),
          ...(tlsServerName ? { 'tls-server-name': tlsServerName } : {}),
          ...(proxyUrl ? { 'proxy-url': proxyUrl } : {}),
        },
      },
    ],
    users: [{ name: 'default-auth', user: { 'client-certificate': pemPath, 'client-key': pemPath } }],
    contexts: [
      { name: 'default-context', context: { cluster: 'default-cluster', user: 'default-auth', namespace: 'default' } },
    ],
    'current-context': 'default-context',
  });
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
  } catch (error) {
    throw new UsageError(`--kubeconfig ${file}: ${errorMessage(error)}`, { cause: error });
  }
}

/** PEM texts of what a kubeconfig names or holds. Throws when a file cannot be read. */
export function readClientPair(source: ClientCertificateSource): ClientPair {
  if (source.type === 'inline') return source.pair;
  return { cert: readFileSync(source.certFile, 'utf8'), key: readFileSync(source.keyFile, 'utf8') };
}
