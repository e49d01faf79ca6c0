import 'reflect-metadata'; // @peculiar/x509 wants it loaded first
import * as x509 from '@peculiar/x509';
import { describe, expect, it } from 'vitest';
import { makeAuthority } from '../testing/certificates.ts';
import { parsePair, rotationDeadlineMs } from './pair.ts';
import { incompatibility, isUsableKey, makeRequest, newKey, requestName } from './request.ts';
import { clientTemplate, servingTemplate } from './template.ts';

/** A key for tests only. */
const KEY = `-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIA8eLTxLWml4h5altMPS4fABEiM0RVZneImaq7zN3u/woAoGCCqGSM49
AwEHoUQDQgAEenFWlL6gzhLLG8POtxIuwdUkIkSgD3W2p7suc+VbBK5gYin7PZ9/
3rEAbGVaKslDJ+AN6q4ycrat+XfSMFV1lw==
-----END EC PRIVATE KEY-----
`;

function sanOf({ extensions }: x509.Pkcs10CertificateRequest): x509.SubjectAlternativeNameExtension | undefined {
  return extensions.find((extension) => extension instanceof x509.SubjectAlternativeNameExtension);
}

it('the same key, subject and usages give the name that the kubelet gives them', () => {
  // Computed by the Go of kubernetes v1.36 pkg/kubelet/certificate/bootstrap/bootstrap.go: digestedName.
  expect(requestName(KEY, clientTemplate('node-1'))).toBe('node-csr-Ih-i9CGZbvhwzfIHCCirHcYIBHwesf01FgPNx8eVPt8');
  expect(requestName(KEY, clientTemplate('node-2'))).not.toBe(requestName(KEY, clientTemplate('node-1')));
  expect(requestName(newKey(), clientTemplate('node-1'))).not.toBe(requestName(KEY, clientTemplate('node-1')));
});

describe('a request', () => {
  const template = servingTemplate('n1', [
    { type: 'InternalIP', address: 'fd00::7' },
    { type: 'InternalIP', address: '10.0.0.7' },
    { type: 'Hostname', address: 'n1' },
  ]);
  if (template === undefined) throw new Error('expected a template');

  it('carries subject and names, signed by a new key each time', async () => {
    const first = await makeRequest(template);
    const second = await makeRequest(template);
    expect(first.key).toMatch(/^-----BEGIN EC PRIVATE KEY-----\n/);
    expect(first.key).not.toBe(second.key);
    const request = new x509.Pkcs10CertificateRequest(first.request);
    expect(await request.verify()).toBe(true);
    expect(request.subject).toBe('O=system:nodes, CN=system:node:n1');
    const names = sanOf(request)?.names.toJSON();
    expect(names?.map(({ type, value }) => `${type} ${value}`)).toEqual(['dns n1', 'ip 10.0.0.7', 'ip fd00::7']);
  });

  it('can go on with a key that was kept', async () => {
    const { request, key } = await makeRequest(clientTemplate('n1'), KEY);
    expect(key).toBe(KEY);
    expect(sanOf(new x509.Pkcs10CertificateRequest(request))).toBeUndefined();
    expect(incompatibility(request, KEY, clientTemplate('n1'))).toBeUndefined();
    expect(incompatibility(request, newKey(), clientTemplate('n1'))).toBe('it is for another key');
    expect(incompatibility(request, KEY, clientTemplate('n2'))).toBe('its subject is another one');
  });

  it('does not go on with a key that is broken', () => {
    expect(isUsableKey(KEY)).toBe(true);
    expect(isUsableKey(KEY.slice(0, 100))).toBe(false);
    expect(isUsableKey('')).toBe(false);
  });
});

describe('a pair of certificate and key', () => {
  it('is read from one text in any order, intermediates included', async () => {
    const authority = await makeAuthority('ca');
    const { cert, key } = await authority.issue({ commonName: 'n', organizations: ['a', 'b'] });
    const text = `${key}\n${cert}\n${authority.cert}`;
    const pair = parsePair(text, text);
    expect(pair.subject).toEqual({ commonName: 'n', organizations: ['a', 'b'] });
    expect(pair.cert.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(pair.cert).not.toContain('PRIVATE');
    expect(pair.key).not.toContain('CERTIFICATE');
  });

  it('that does not fit together is refused without a word of the key', async () => {
    const authority = await makeAuthority('ca');
    const { cert } = await authority.issue({ commonName: 'n' });
    const foreign = newKey();
    expect(() => parsePair(cert, foreign)).toThrow('the private key does not belong to the certificate');
    expect(() => parsePair(foreign, foreign)).toThrow('there is no certificate in it');
    expect(() => parsePair(cert, cert)).toThrow('there is no private key in it');
    const broken = foreign.replace(/\n[^-]+\n-----END/, '\nAAAA\n-----END');
    expect(() => parsePair(cert, broken)).toThrow(/^the private key cannot be read: (?!.*AAAA)/);
  });
});

it('is renewed after 70 to 90 % of its life', () => {
  const life = { notBeforeMs: 1000, notAfterMs: 2000 };
  expect(rotationDeadlineMs(life, () => 0)).toBe(1700);
  expect(rotationDeadlineMs(life, () => 0.5)).toBe(1800);
  expect(rotationDeadlineMs(life, () => 0.999)).toBeCloseTo(1900, -1);
});
