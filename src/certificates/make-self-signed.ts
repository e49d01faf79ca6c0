import 'reflect-metadata'; // @peculiar/x509 wants it loaded first
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

interface KeyAndCert {
  /** PEM texts. */
  readonly key: string;
  readonly cert: string;
}

/** `hosts` are DNS names and addresses. Loaded only when needed: the library costs memory. */
export async function makeSelfSigned(nodeName: string, hosts: readonly string[], nowMs: number): Promise<KeyAndCert> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const names = [...new Set([nodeName, ...hosts])].filter((host) => host !== '');
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    // Positive, as the standard asks.
    serialNumber: `01${randomBytes(15).toString('hex')}`,
    // Not a text to parse: a name may hold commas.
    name: [{ CN: [`${nodeName}@${Math.floor(nowMs / 1000)}`] }],
    // An hour back, for clocks that differ.
    notBefore: new Date(nowMs - HOUR_MS),
    notAfter: new Date(nowMs + YEAR_MS),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ),
    ],
  });
  const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { key: x509.PemConverter.encode(key, 'PRIVATE KEY'), cert: cert.toString('pem') };
}
