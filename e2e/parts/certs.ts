import 'reflect-metadata'; // @peculiar/x509 wants it loaded first
import { generateKeyPairSync, randomBytes, type webcrypto } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const DAY_MS = 86_400_000;

/** PEM texts. */
export interface KeyAndCert {
  readonly key: string;
  readonly cert: string;
}

export interface Subject {
  readonly commonName: string;
  readonly organization?: string;
  /** DNS names and addresses that a server answers to. */
  readonly hosts?: readonly string[];
  /** From an hour ago for a year if not given. */
  readonly validity?: { readonly notBefore: Date; readonly notAfter: Date };
}

/** A certificate authority whose files are `DIR/NAME.crt` and `DIR/NAME.key`; made when they are not there. */
export class Authority {
  readonly certFile: string;
  readonly keyFile: string;
  readonly #keys: webcrypto.CryptoKeyPair;
  readonly #cert: x509.X509Certificate;
  readonly #dir: string;

  private constructor(dir: string, name: string, keys: webcrypto.CryptoKeyPair, cert: x509.X509Certificate) {
    this.#dir = dir;
    this.certFile = join(dir, `${name}.crt`);
    this.keyFile = join(dir, `${name}.key`);
    this.#keys = keys;
    this.#cert = cert;
  }

  static async open(dir: string, name: string): Promise<Authority> {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const keyFile = join(dir, `${name}.key`);
    if (existsSync(keyFile)) {
      const cert = new x509.X509Certificate(readFileSync(join(dir, `${name}.crt`), 'utf8'));
      const der = x509.PemConverter.decodeFirst(readFileSync(keyFile, 'utf8'));
      const privateKey = await crypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']);
      return new Authority(dir, name, { privateKey, publicKey: await cert.publicKey.export() }, cert);
    }
    const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const cert = await x509.X509CertificateGenerator.createSelfSigned({
      serialNumber: serial(),
      name: [{ CN: [`outrigger ${name}`] }],
      ...validity(),
      keys,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.digitalSignature, true),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    const authority = new Authority(dir, name, keys, cert);
    writePrivate(authority.keyFile, await privatePem(keys));
    writeFileSync(authority.certFile, cert.toString('pem'));
    return authority;
  }

  get pem(): string {
    return this.#cert.toString('pem');
  }

  /** A certificate for client and server use. */
  async issue({ commonName, organization, hosts = [], validity: asked = validity() }: Subject): Promise<KeyAndCert> {
    const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
    const cert = await x509.X509CertificateGenerator.create({
      serialNumber: serial(),
      subject: [...(organization === undefined ? [] : [{ O: [organization] }]), { CN: [commonName] }],
      issuer: this.#cert.subject,
      ...asked,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        await x509.AuthorityKeyIdentifierExtension.create(this.#cert.publicKey),
        ...(hosts.length === 0
          ? []
          : [
              new x509.SubjectAlternativeNameExtension(
                hosts.map((host) => ({ type: isIP(host) === 0 ? ('dns' as const) : ('ip' as const), value: host })),
              ),
            ]),
      ],
    });
    return { key: await privatePem(keys), cert: cert.toString('pem') };
  }

  /** Issues into `DIR/NAME.crt` and `DIR/NAME.key`, or leaves what is there. */
  async issueFiles(name: string, subject: Subject): Promise<{ readonly certFile: string; readonly keyFile: string }> {
    const certFile = join(this.#dir, `${name}.crt`);
    const keyFile = join(this.#dir, `${name}.key`);
    if (!existsSync(certFile)) {
      const { key, cert } = await this.issue(subject);
      writePrivate(keyFile, key);
      writeFileSync(certFile, cert);
    }
    return { certFile, keyFile };
  }
}

/** The key that signs ServiceAccount tokens. ECDSA, since making an RSA key takes seconds and each RSA signature a millisecond. */
export function writeSigningKey(file: string): void {
  if (existsSync(file)) return;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writePrivate(file, privateKey.export({ type: 'sec1', format: 'pem' }).toString());
}

function writePrivate(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
}

async function privatePem(keys: webcrypto.CryptoKeyPair): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY');
}

function validity(): { notBefore: Date; notAfter: Date } {
  // An hour back, for clocks that differ.
  return { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 365 * DAY_MS) };
}

function serial(): string {
  return `01${randomBytes(15).toString('hex')}`;
}
