import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { KeyAndCert } from './certs.ts';

export interface Identity {
  readonly name: string;
  readonly credentials: KeyAndCert | { readonly token: string };
}

/** A kubeconfig with everything inside, so that the file can be copied. */
export function writeKubeconfig(file: string, url: string, caPem: string, identity: Identity): string {
  const { name, credentials } = identity;
  const user =
    'token' in credentials
      ? { token: credentials.token }
      : { 'client-certificate-data': base64(credentials.cert), 'client-key-data': base64(credentials.key) };
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'outrigger', cluster: { server: url, 'certificate-authority-data': base64(caPem) } }],
    users: [{ name, user }],
    contexts: [{ name: 'outrigger', context: { cluster: 'outrigger', user: name } }],
    'current-context': 'outrigger',
  });
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
