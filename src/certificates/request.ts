import 'reflect-metadata'; // @peculiar/x509 wants it loaded first
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  type webcrypto,
} from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { CertificateTemplate } from './template.ts';

// Loaded only when a certificate is to be asked for: the library costs memory.

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

export interface CertificateRequest {
  /** PEM. */
  readonly request: string;
  /** PEM, in the form that Go's tools write. */
  readonly key: string;
}

/** With a new key, or with one that is kept because its request may still be under way (PEM; ECDSA P-256). */
export async function makeRequest(template: CertificateTemplate, keptKey?: string): Promise<CertificateRequest> {
  const privateKey =
    keptKey === undefined
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
      : createPrivateKey({ key: keptKey });
  const { dnsNames, ipAddresses } = template;
  const names = [
    ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
    ...ipAddresses.map((value) => ({ type: 'ip' as const, value })),
  ];
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    // Not a text to parse: a name may hold commas.
    name: [{ O: [template.organization] }, { CN: [template.commonName] }],
    keys: await webKeys(privateKey),
    signingAlgorithm: ALGORITHM,
    extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
  });
  return {
    request: `${request.toString('pem')}\n`,
    key: privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
  };
}

export function newKey(): string {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'sec1', format: 'pem' })
    .toString();
}

/** True for a key that `makeRequest` can go on with. */
export function isUsableKey(key: string): boolean {
  try {
    return createPrivateKey({ key }).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false; // half written, or not ours
  }
}

/** The name that the same key, subject and usages always give, so that a retry finds its own request (reference 13.1). */
export function requestName(key: string, { commonName, organization, usages }: CertificateTemplate): string {
  const hash = createHash('sha512-256');
  // The delimiter is not in the alphabet of base64url: other parts cannot give the same stream.
  const write = (data: Buffer): void => {
    hash.update(`${data.toString('base64url')}|`);
  };
  write(publicKeyOf(key));
  for (const text of [commonName, organization, ...usages]) write(Buffer.from(text));
  return `node-csr-${hash.digest('base64url')}`;
}

/** What is wrong with a request of the same name that somebody made before; undefined: it is ours. */
export function incompatibility(existing: string, key: string, template: CertificateTemplate): string | undefined {
  const request = new x509.Pkcs10CertificateRequest(existing);
  if (!Buffer.from(request.publicKey.rawData).equals(publicKeyOf(key))) return 'it is for another key';
  const name = request.subjectName;
  if (name.getField('CN').join() !== template.commonName || name.getField('O').join() !== template.organization)
    return 'its subject is another one';
  return undefined;
}

function publicKeyOf(key: string): Buffer {
  return createPublicKey({ key, format: 'pem' }).export({ type: 'spki', format: 'der' });
}

async function webKeys(privateKey: KeyObject): Promise<webcrypto.CryptoKeyPair> {
  const pkcs8 = privateKey.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return {
    privateKey: await crypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign']),
    publicKey: await crypto.subtle.importKey('spki', spki, ALGORITHM, true, ['verify']),
  };
}
