import { bootstrapOnce } from './certificates/bootstrap.ts';
import { ClientCertificate } from './certificates/client.ts';
import { parsePair } from './certificates/pair.ts';
import { CertificateStore } from './certificates/store.ts';
import type { Config, NodeConfig } from './config/config.ts';
import { CertificateRequestApi } from './kube/certificates.ts';
import { ApiClient } from './kube/client.ts';
import {
  clientCertificateOf,
  RotatingCredentials,
  readClientPair,
  writeKubeconfig,
} from './kube/client-certificate.ts';
import type { Credentials } from './kube/connection.ts';
import { KubeError } from './kube/errors.ts';
import { loadKubeConfig } from './kube/kubeconfig.ts';
import { makeRequest } from './serving.ts';
import type { Logger } from './telemetry/logger.ts';
import type { Clock } from './util/clock.ts';

/** Reference 13.1: an API server that is not there yet is waited for this long, and then asked all the same. */
const SERVER_WAIT_MS = 60_000;
const SERVER_POLL_MS = 2_000;

export interface ApiAccessOptions {
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  /** Told of each failed try to renew the certificate. */
  readonly renewFailed?: () => void;
  /** Waiting for a first certificate ends with it. */
  readonly signal: AbortSignal;
}

/** How the process proves at the API server who it is. */
export interface ApiAccess {
  readonly credentials: Credentials;
  /** Only with `rotateCertificates`: what keeps it valid; its `run` rejects when the process cannot go on. */
  readonly certificate?: ClientCertificate;
  close(): void;
}

/** Resolves when there is an identity to go with: at once from a kubeconfig, after an approval where one is bootstrapped (reference 13). */
export async function openApiAccess(config: Config, options: ApiAccessOptions): Promise<ApiAccess> {
  const { kubeconfig, context, clientCertificate, nodes } = config;
  const [node] = nodes;
  const { rotate, bootstrapKubeconfig } = clientCertificate;
  const source = { ...(kubeconfig !== undefined && { file: kubeconfig }), ...(context !== undefined && { context }) };
  if (kubeconfig === undefined || node === undefined || (!rotate && bootstrapKubeconfig === undefined))
    return { credentials: loadKubeConfig(source), close: () => {} };

  const begin =
    bootstrapKubeconfig === undefined || isStillValid(kubeconfig, options)
      ? undefined
      : loadKubeConfig({ file: bootstrapKubeconfig, flag: '--bootstrap-kubeconfig' });
  if (begin === undefined) {
    const credentials = loadKubeConfig(source);
    return rotate ? await rotating(node, credentials, false, options) : { credentials, close: () => {} };
  }
  const { currentPath } = new CertificateStore({ dir: node.certDir, prefix: 'kubelet-client' });
  if (rotate) {
    writeKubeconfig(kubeconfig, begin, currentPath);
    return await rotating(node, begin, true, options);
  }
  await once(node, begin, options);
  writeKubeconfig(kubeconfig, begin, currentPath);
  return { credentials: loadKubeConfig(source), close: () => {} };
}

type KubeConfig = ReturnType<typeof loadKubeConfig>;

/** `bootstrapping`: what `begin` proves is not the node's identity, and not kept. */
async function rotating(
  node: NodeConfig,
  begin: KubeConfig,
  bootstrapping: boolean,
  options: ApiAccessOptions,
): Promise<ApiAccess> {
  const { clock, random, log, userAgent, signal } = options;
  const given = bootstrapping ? undefined : clientCertificateOf(begin);
  const beginClient = new ApiClient({ credentials: begin, clock, userAgent, maxSockets: 2 });
  const credentials = new RotatingCredentials(begin, () => certificate.current);
  const ownClient = new ApiClient({ credentials, clock, userAgent, maxSockets: 2 });
  const requestApi = (client: ApiClient) => new CertificateRequestApi({ client, clock, log, random });
  const certificate: ClientCertificate = new ClientCertificate({
    nodeName: node.name,
    store: new CertificateStore({
      dir: node.certDir,
      prefix: 'kubelet-client',
      ...(given?.type === 'files' && { initial: given }),
    }),
    ...(given?.type === 'inline' && { bootstrap: given.pair }),
    requests: (current) => requestApi(current === undefined ? beginClient : ownClient),
    makeRequest,
    ...(options.renewFailed !== undefined && { renewFailed: options.renewFailed }),
    clock,
    random,
    log,
  });
  const close = (): void => {
    beginClient.close();
    ownClient.close();
  };
  await certificate.load();
  if (certificate.current !== undefined) return { credentials, certificate, close };
  // Until there is one nothing else could be done. The app runs the same object later on, so this run ends here.
  const first = new AbortController();
  const onAbort = (): void => first.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const run = certificate.run({ signal: first.signal });
  try {
    await Promise.race([certificate.available({ signal }), run]);
  } catch (error) {
    close();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
    first.abort();
    await run.catch(() => {}); // its failure has been thrown already
  }
  return { credentials, certificate, close };
}

async function once(node: NodeConfig, begin: KubeConfig, options: ApiAccessOptions): Promise<void> {
  const { clock, random, log, userAgent, signal } = options;
  const client = new ApiClient({ credentials: begin, clock, userAgent, maxSockets: 2 });
  try {
    await serverThere(client, options);
    await bootstrapOnce({
      dir: node.certDir,
      nodeName: node.name,
      store: new CertificateStore({ dir: node.certDir, prefix: 'kubelet-client' }),
      requests: new CertificateRequestApi({ client, clock, log, random }),
      clock,
      log,
      signal,
    });
  } finally {
    client.close();
  }
}

async function serverThere(client: ApiClient, { clock, log, signal }: ApiAccessOptions): Promise<void> {
  const until = clock.now() + SERVER_WAIT_MS;
  for (let first = true; clock.now() < until; first = false) {
    try {
      await client.request({ method: 'GET', path: '/version', timeoutMs: 5_000, signal });
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof KubeError) return; // whatever it says, it is there
      if (first) log.warn({ err: error }, 'the API server is waited for');
    }
    await clock.sleep(SERVER_POLL_MS, { signal });
  }
}

/** A kubeconfig with a certificate that can be used wins over the bootstrap one; any other one is replaced (reference 13.1). */
function isStillValid(file: string, { clock, log }: ApiAccessOptions): boolean {
  try {
    const source = clientCertificateOf(loadKubeConfig({ file }));
    if (source === undefined) throw new Error('there is no client certificate in it');
    const { cert, key } = readClientPair(source);
    if (clock.now() > parsePair(cert, key).notAfterMs) throw new Error('its client certificate has expired');
    return true;
  } catch (error) {
    log.info({ err: error, kubeconfig: file }, 'the bootstrap kubeconfig is used');
    return false;
  }
}
