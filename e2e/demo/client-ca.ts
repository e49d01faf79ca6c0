import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kube } from '../parts/kube.ts';
import type { Progress } from '../parts/progress.ts';

/**
 * The authority that signs the clients of a cluster, its API server among them: whom the node must let in for `kubectl logs`. The API
 * server publishes it for servers like ours. Undefined, after saying so, if this user may not read it.
 */
export async function readClientCa(kube: Kube, dir: string, progress: Progress): Promise<string | undefined> {
  try {
    const { data } = await kube.get('ConfigMap', 'extension-apiserver-authentication', 'kube-system');
    const pem = data?.['client-ca-file'];
    if (pem === undefined) throw new Error('the ConfigMap extension-apiserver-authentication has no client-ca-file');
    const file = join(dir, 'client-ca.crt');
    writeFileSync(file, pem);
    return file;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    progress.say(
      `kubectl logs will not work, the certificate authority of the cluster's clients cannot be had: ${why}`,
    );
    return undefined;
  }
}
