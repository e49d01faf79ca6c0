import { createPrivateKey, X509Certificate } from 'node:crypto';
import { errorMessage } from '../util/errors.ts';

/** A certificate with its key, read and found to fit together. */
export interface KeyPair {
  /** PEM, the certificate first and then its intermediates. */
  readonly cert: string;
  /** PEM. Never logged. */
  readonly key: string;
  readonly certificate: X509Certificate;
  readonly subject: { readonly commonName: string; readonly organizations: readonly string[] };
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----/g;

/** Throws with words that quote nothing of the key. Both texts may be the same one, holding both. */
export function parsePair(certText: string, keyText: string): KeyPair {
  const certs = blocks(certText, (type) => type === 'CERTIFICATE');
  const [key] = blocks(keyText, (type) => type.endsWith('PRIVATE KEY'));
  const [leaf] = certs;
  if (leaf === undefined) throw new Error('there is no certificate in it');
  if (key === undefined) throw new Error('there is no private key in it');
  const certificate = new X509Certificate(leaf);
  let fits: boolean;
  try {
    fits = certificate.checkPrivateKey(createPrivateKey(key));
  } catch (error) {
    throw new Error(`the private key cannot be read: ${errorMessage(error)}`, { cause: error });
  }
  if (!fits) throw new Error('the private key does not belong to the certificate');
  // Node gives an array where a name occurs more than once.
  const subject: Partial<Record<'CN' | 'O', string | string[]>> = certificate.toLegacyObject().subject;
  return {
    cert: `${certs.join('\n')}\n`,
    key: `${key}\n`,
    certificate,
    subject: { commonName: [subject.CN ?? []].flat().at(-1) ?? '', organizations: [subject.O ?? []].flat() },
    notBeforeMs: certificate.validFromDate.getTime(),
    notAfterMs: certificate.validToDate.getTime(),
  };
}

function blocks(text: string, wanted: (type: string) => boolean): string[] {
  return [...text.matchAll(BLOCK)].filter(([, type = '']) => wanted(type)).map(([block]) => block);
}

/** Moment at which a certificate is to be renewed: after 70 to 90 % of its life, so that nodes do not come in step (reference 13.2). */
export function rotationDeadlineMs(
  { notBeforeMs, notAfterMs }: Pick<KeyPair, 'notBeforeMs' | 'notAfterMs'>,
  random: () => number,
): number {
  return notBeforeMs + (notAfterMs - notBeforeMs) * (0.7 + 0.2 * random());
}
