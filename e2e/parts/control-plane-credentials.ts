import { join } from 'node:path';
import { Authority, writeSigningKey } from './certs.ts';
import { writeKubeconfig } from './kubeconfig.ts';

/**
 * The keys of a control plane, all below one folder. `ca` signs clients, the API server and nodes; etcd has an authority of its own,
 * since it lets in everyone whom its authority signed.
 */
export class Credentials {
  readonly ca: Authority;
  readonly etcdCa: Authority;
  readonly signingKeyFile: string;
  readonly #dir: string;

  private constructor(dir: string, ca: Authority, etcdCa: Authority) {
    this.#dir = dir;
    this.ca = ca;
    this.etcdCa = etcdCa;
    this.signingKeyFile = join(dir, 'service-accounts.key');
  }

  static async open(dir: string): Promise<Credentials> {
    const credentials = new Credentials(dir, await Authority.open(dir, 'ca'), await Authority.open(dir, 'etcd-ca'));
    writeSigningKey(credentials.signingKeyFile);
    return credentials;
  }

  /** A kubeconfig with a client certificate. */
  async kubeconfig(file: string, url: string, commonName: string, organization?: string): Promise<string> {
    const credentials = await this.ca.issue({ commonName, ...(organization === undefined ? {} : { organization }) });
    return writeKubeconfig(join(this.#dir, file), url, this.ca.pem, { name: commonName, credentials });
  }

  tokenKubeconfig(file: string, url: string, name: string, token: string): string {
    return writeKubeconfig(join(this.#dir, file), url, this.ca.pem, { name, credentials: { token } });
  }
}
