import { describe, expect, it } from 'vitest';
import { buildTls } from './tls.ts';

const TLS13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

describe('tlsCipherSuites', () => {
  it.each([
    ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA', 'ECDHE-RSA-AES256-SHA'],
    ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
    ['TLS_RSA_WITH_AES_128_GCM_SHA256', 'AES128-GCM-SHA256'],
    ['TLS_RSA_WITH_AES_256_CBC_SHA', 'AES256-SHA'],
  ])('takes Go’s name %s for OpenSSL’s %s', (name, openssl) => {
    expect(buildTls({ tlsCipherSuites: [name] }).ciphers).toEqual([...TLS13, openssl]);
  });

  it('of TLS 1.3 cannot be chosen', () => {
    expect(buildTls({ tlsCipherSuites: ['TLS_AES_128_GCM_SHA256'] }).ciphers).toEqual(TLS13);
  });

  it.each(['TLS_RSA_WITH_RC4_128_SHA', 'TLS_RSA_WITH_3DES_EDE_CBC_SHA', 'ECDHE-RSA-AES128-SHA', 'TLS_FOO', ''])(
    'refuses %j, which does not exist here',
    (name) => {
      expect(() => buildTls({ tlsCipherSuites: [name] })).toThrow(
        `--tls-cipher-suites (tlsCipherSuites): Cipher suite ${name} not supported or doesn't exist`,
      );
    },
  );
});

describe('tlsMinVersion', () => {
  it('is TLS 1.2, or 1.3 when asked for', () => {
    expect(buildTls({})).toEqual({ minVersion: 'TLSv1.2' });
    expect(buildTls({ tlsMinVersion: 'VersionTLS12' })).toEqual({ minVersion: 'TLSv1.2' });
    expect(buildTls({ tlsMinVersion: 'VersionTLS13' })).toEqual({ minVersion: 'TLSv1.3' });
  });

  it.each(['VersionTLS10', 'VersionTLS11', '1.2'])('is never %s', (tlsMinVersion) => {
    expect(() => buildTls({ tlsMinVersion })).toThrow(/must be VersionTLS12 or VersionTLS13/);
  });
});
