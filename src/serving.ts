import type { CertificateRequest } from './certificates/request.ts';
import { ensureSelfSigned } from './certificates/self-signed.ts';
import { type CertificateMetrics, ServingCertificate, type ServingEvent } from './certificates/serving.ts';
import { CertificateStore } from './certificates/store.ts';
import type { CertificateTemplate, NodeAddress } from './certificates/template.ts';
import type { NodeConfig } from './config/config.ts';
import { CertificateRequestApi } from './kube/certificates.ts';
import type { ApiClient } from './kube/client.ts';
import type { ServingSource } from './server/tls-files.ts';
import type { Logger } from './telemetry/logger.ts';
import type { Clock } from './util/clock.ts';

export interface ServingOptions {
  readonly node: NodeConfig;
  readonly client: ApiClient;
  /** As the node reports them; empty while it does not know. */
  readonly addresses: () => readonly NodeAddress[];
  readonly event: (event: ServingEvent) => void;
  readonly metrics?: CertificateMetrics;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

export interface Serving {
  readonly source: ServingSource;
  /** Only where the certificate is asked for: what keeps it valid, until the signal aborts. */
  readonly certificate?: ServingCertificate;
}

/** The serving certificate of one node, as configured. Throws UsageError where files are to blame. */
export async function openServing(options: ServingOptions): Promise<Serving> {
  const { node, client, clock, random, log } = options;
  const { serving } = node;
  switch (serving.type) {
    case 'files':
      return { source: serving };
    case 'selfSigned': {
      const hosts = [node.name, ...node.nodeIPs];
      const files = await ensureSelfSigned({ dir: node.certDir, nodeName: node.name, hosts, clock, log });
      return { source: { type: 'files', ...files } };
    }
    case 'requested': {
      const { initial } = serving;
      const certificate = new ServingCertificate({
        ...options,
        nodeName: node.name,
        store: new CertificateStore({
          dir: node.certDir,
          prefix: 'kubelet-server',
          ...(initial === undefined ? {} : { initial }),
        }),
        requests: new CertificateRequestApi({ client, clock, log, random }),
        makeRequest,
      });
      await certificate.load();
      return {
        certificate,
        source: {
          type: 'issued',
          current: () => certificate.current,
          onChange: (listener) => certificate.onChange(listener),
        },
      };
    }
  }
}

/** The library for it costs memory, and is needed seldom. */
export async function makeRequest(template: CertificateTemplate): Promise<CertificateRequest> {
  const { makeRequest: make } = await import('./certificates/request.ts');
  return make(template);
}
