import { isIP } from 'node:net';
import type { KeyPair } from './pair.ts';

/** What a certificate of a node is asked for (reference 13.1, 13.3). */
export interface CertificateTemplate {
  readonly signerName: string;
  readonly commonName: string;
  readonly organization: string;
  /** Sorted, without repetition. */
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly usages: readonly string[];
}

export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

const ORGANIZATION = 'system:nodes';
const SIGNERS = { client: 'kubernetes.io/kube-apiserver-client-kubelet', server: 'kubernetes.io/kubelet-serving' };

export function clientTemplate(nodeName: string): CertificateTemplate {
  return {
    signerName: SIGNERS.client,
    commonName: `system:node:${nodeName}`,
    organization: ORGANIZATION,
    dnsNames: [],
    ipAddresses: [],
    usages: ['digital signature', 'client auth'],
  };
}

/** Undefined while the node has no IP address: nothing is requested before. */
export function servingTemplate(nodeName: string, addresses: readonly NodeAddress[]): CertificateTemplate | undefined {
  const dnsNames = new Set<string>();
  const ipAddresses = new Set<string>();
  for (const { type, address } of addresses) {
    const isAddress = isIP(address) !== 0;
    if (address === '') continue;
    if (type.endsWith('DNS')) dnsNames.add(address);
    else if (isAddress) ipAddresses.add(address);
    else if (type === 'Hostname') dnsNames.add(address);
  }
  if (ipAddresses.size === 0) return undefined;
  return {
    signerName: SIGNERS.server,
    commonName: `system:node:${nodeName}`,
    organization: ORGANIZATION,
    dnsNames: [...dnsNames].sort(),
    ipAddresses: [...ipAddresses].sort(),
    usages: ['digital signature', 'server auth'],
  };
}

/** A certificate with more names than asked for is as good; one that lacks any is asked for anew. */
export function satisfies({ certificate, subject }: KeyPair, template: CertificateTemplate): boolean {
  return (
    subject.commonName === template.commonName &&
    subject.organizations.includes(template.organization) &&
    // The library compares names and addresses in whatever form they are written; the subject is no name of a server.
    template.dnsNames.every(
      (name) => certificate.checkHost(name, { subject: 'never', wildcards: false }) !== undefined,
    ) &&
    template.ipAddresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}

export function sameTemplate(a: CertificateTemplate | undefined, b: CertificateTemplate | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
