import 'reflect-metadata'; // @peculiar/x509 wants it loaded first
import { createPublicKey, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const HOUR_MS = 3_600_000;

interface TestSubject {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly usage?: 'client' | 'server';
  /** DNS names and addresses of a server. */
  readonly hosts?: readonly string[];
  readonly expired?: boolean;
  /** Of the subject (PEM); a new one if not given. */
  readonly key?: string;
  /** From an hour ago for two hours if not given. */
  readonly validity?: { readonly fromMs: number; readonly untilMs: number };
}

/** A certificate authority in memory. */
export interface TestAuthority {
  readonly cert: string;
  issue(subject: TestSubject): Promise<{ readonly key: string; readonly cert: string }>;
}

export async function makeAuthority(name: string): Promise<TestAuthority> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [name] }],
    ...validity(false),
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
    ],
  });
  return {
    cert: authority.toString('pem'),
    async issue({
      commonName,
      organizations = [],
      usage = 'client',
      hosts = [],
      expired = false,
      validity: asked,
      key: given,
    }) {
      const own = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
      const cert = await x509.X509CertificateGenerator.create({
        serialNumber: serial(),
        subject: [...organizations.map((group) => ({ O: [group] })), { CN: [commonName] }],
        issuer: authority.subject,
        ...(asked === undefined
          ? validity(expired)
          : { notBefore: new Date(asked.fromMs), notAfter: new Date(asked.untilMs) }),
        publicKey:
          given === undefined ? own.publicKey : createPublicKey(given).toCryptoKey(ALGORITHM, true, ['verify']),
        signingKey: keys.privateKey,
        signingAlgorithm: ALGORITHM,
        extensions: [
          new x509.ExtendedKeyUsageExtension([
            usage === 'client' ? x509.ExtendedKeyUsage.clientAuth : x509.ExtendedKeyUsage.serverAuth,
          ]),
          ...(hosts.length > 0
            ? [
                new x509.SubjectAlternativeNameExtension(
                  hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
                ),
              ]
            : []),
        ],
      });
      const key =
        given ?? x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', own.privateKey), 'PRIVATE KEY');
      return { key, cert: cert.toString('pem') };
    },
  };
}

function serial(): string {
  return `01${randomBytes(8).toString('hex')}`;
}

function validity(expired: boolean): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return expired
    ? { notBefore: new Date(now - 2 * HOUR_MS), notAfter: new Date(now - HOUR_MS) }
    : { notBefore: new Date(now - HOUR_MS), notAfter: new Date(now + HOUR_MS) };
}
