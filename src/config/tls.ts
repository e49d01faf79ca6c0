import { getCiphers } from 'node:tls';
import { UsageError } from '../util/errors.ts';
import type { TlsConfig } from './config.ts';

/** Names of the kubelet's fields are Go's; OpenSSL has others (reference 12.1). */
const VERSIONS: Readonly<Record<string, 'TLSv1.2' | 'TLSv1.3'>> = {
  '': 'TLSv1.2',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** Go does not let them be chosen either: they are always there. */
const TLS13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

export function buildTls({
  tlsMinVersion = '',
  tlsCipherSuites = [],
}: {
  readonly tlsMinVersion?: string | undefined;
  readonly tlsCipherSuites?: readonly string[] | undefined;
}): TlsConfig {
  const minVersion = VERSIONS[tlsMinVersion];
  if (minVersion === undefined) {
    const possible = 'must be VersionTLS12 or VersionTLS13';
    throw new UsageError(`--tls-min-version (tlsMinVersion): ${JSON.stringify(tlsMinVersion)} ${possible}`);
  }
  if (tlsCipherSuites.length === 0) return { minVersion };
  return { minVersion, ciphers: [...new Set([...TLS13, ...tlsCipherSuites.map(opensslName)])] };
}

function opensslName(suite: string): string {
  const name = TLS13.includes(suite) ? suite : translate(suite);
  if (TLS13.includes(suite) || (name !== undefined && getCiphers().includes(name.toLowerCase()))) return name ?? suite;
  throw new UsageError(`--tls-cipher-suites (tlsCipherSuites): Cipher suite ${suite} not supported or doesn't exist`);
}

/** `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` → `ECDHE-RSA-AES128-GCM-SHA256`. Undefined for what Go does not call so. */
function translate(suite: string): string | undefined {
  const parts =
    /^TLS_(ECDHE_RSA|ECDHE_ECDSA|RSA)_WITH_(AES_128|AES_256|CHACHA20)_(?:(CBC|GCM|POLY1305)_?)(SHA256|SHA384|SHA)?$/.exec(
      suite,
    );
  const [, exchange = '', cipher = '', mode, hash] = parts ?? [];
  if (parts === null) return undefined;
  const prefix = exchange === 'RSA' ? '' : `${exchange.replace('_', '-')}-`;
  if (cipher === 'CHACHA20') {
    // Both spellings are Go's.
    return mode === 'POLY1305' && exchange !== 'RSA' && hash !== 'SHA' && hash !== 'SHA384'
      ? `${prefix}CHACHA20-POLY1305`
      : undefined;
  }
  if (mode === 'POLY1305' || hash === undefined) return undefined;
  return `${prefix}${cipher.replace('_', '')}${mode === 'GCM' ? '-GCM' : ''}-${hash}`;
}
