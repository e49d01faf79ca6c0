import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { readText } from './kube-http.ts';
import { nodeAddress } from './node-address.ts';
import type { Outrigger } from './outrigger.ts';

export interface KubeletCall {
  readonly method?: string;
  /** Of the API server, or of whoever else. */
  readonly certificate?: { readonly certFile: string; readonly keyFile: string };
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The kubelet API of a node, by somebody who does not care whom he talks to. */
export async function askKubelet(
  { port }: Pick<Outrigger, 'port'>,
  path: string,
  { method = 'GET', certificate, token, headers = {} }: KubeletCall = {},
): Promise<{ readonly code: number; readonly body: string }> {
  const tls =
    certificate === undefined
      ? {}
      : { cert: await readFile(certificate.certFile), key: await readFile(certificate.keyFile) };
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const all = { ...headers, ...authorization };
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: nodeAddress(), port, path, method, headers: all, rejectUnauthorized: false, agent: false, ...tls },
      (response) => {
        readText(response).then((body) => resolve({ code: response.statusCode ?? 0, body }), reject);
      },
    );
    sent.once('error', reject);
    sent.end();
  });
}
