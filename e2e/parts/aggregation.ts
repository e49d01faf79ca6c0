import { join } from 'node:path';
import { Authority } from './certs.ts';

const PROXY = 'front-proxy-client';

/**
 * Flags with which an API server hands requests on to other API servers (APIService). `dir` is the control plane's. No kube-proxy
 * runs here, so that it asks for the endpoints of a Service itself.
 */
export async function aggregationFlags(dir: string): Promise<readonly string[]> {
  // Of its own: whoever the clients' authority signed could otherwise say to be anybody.
  const ca = await Authority.open(join(dir, 'keys'), 'front-proxy-ca');
  const client = await ca.issueFiles(PROXY, { commonName: PROXY });
  return [
    `--requestheader-client-ca-file=${ca.certFile}`,
    `--requestheader-allowed-names=${PROXY}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${client.certFile}`,
    `--proxy-client-key-file=${client.keyFile}`,
    '--enable-aggregator-routing',
  ];
}
