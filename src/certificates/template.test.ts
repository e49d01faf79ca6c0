import { describe, expect, it } from 'vitest';
import { makeAuthority } from '../testing/certificates.ts';
import { parsePair } from './pair.ts';
import { clientTemplate, satisfies, servingTemplate } from './template.ts';

// kubernetes v1.36 pkg/kubelet/certificate/kubelet.go: newGetTemplateFn, addressesToHostnamesAndIPs.
describe('the serving certificate', () => {
  it('names the node’s host names and addresses, each sorted and once', () => {
    expect(
      servingTemplate('n1', [
        { type: 'InternalIP', address: '10.0.0.7' },
        { type: 'InternalIP', address: 'fd00::7' },
        { type: 'ExternalIP', address: '1.2.3.4' },
        { type: 'InternalDNS', address: 'n1.internal' },
        { type: 'ExternalDNS', address: 'n1.example' },
        { type: 'Hostname', address: 'n1.example' },
        { type: 'Hostname', address: '10.0.0.7' },
        { type: 'InternalIP', address: 'no-address' },
        { type: 'ExternalIP', address: '' },
      ]),
    ).toEqual({
      signerName: 'kubernetes.io/kubelet-serving',
      commonName: 'system:node:n1',
      organization: 'system:nodes',
      dnsNames: ['n1.example', 'n1.internal'],
      ipAddresses: ['1.2.3.4', '10.0.0.7', 'fd00::7'],
      usages: ['digital signature', 'server auth'],
    });
  });

  it('is not asked for while the node has no IP address', () => {
    expect(servingTemplate('n1', [])).toBeUndefined();
    expect(servingTemplate('n1', [{ type: 'Hostname', address: 'n1' }])).toBeUndefined();
  });
});

it('the client certificate names only the node', () => {
  expect(clientTemplate('n1')).toEqual({
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    commonName: 'system:node:n1',
    organization: 'system:nodes',
    dnsNames: [],
    ipAddresses: [],
    usages: ['digital signature', 'client auth'],
  });
});

describe('a certificate', () => {
  const wanted = servingTemplate('n1', [
    { type: 'InternalIP', address: 'fd00::7' },
    { type: 'Hostname', address: 'n1' },
  ]);
  const issue = async (commonName: string, organizations: string[], hosts: string[]) => {
    const authority = await makeAuthority('ca');
    const { cert, key } = await authority.issue({ commonName, organizations, hosts, usage: 'server' });
    return parsePair(cert, key);
  };

  it.each<[string, boolean, string, string[], string[]]>([
    ['with all that is wanted', true, 'system:node:n1', ['system:nodes'], ['n1', 'fd00:0:0:0:0:0:0:7']],
    ['with more', true, 'system:node:n1', ['system:nodes', 'others'], ['n1', 'n2', 'fd00::7', '10.0.0.1']],
    ['without an address', false, 'system:node:n1', ['system:nodes'], ['n1', 'fd00::8']],
    ['without a name', false, 'system:node:n1', ['system:nodes'], ['n2', 'fd00::7']],
    ['with a wildcard instead of a name', false, 'system:node:n1', ['system:nodes'], ['*', 'fd00::7']],
    ['of another node', false, 'system:node:n2', ['system:nodes'], ['n1', 'fd00::7']],
    ['of another group', false, 'system:node:n1', ['others'], ['n1', 'fd00::7']],
  ])('%s: good enough is %s', async (_title, good, commonName, organizations, hosts) => {
    expect(wanted && satisfies(await issue(commonName, organizations, hosts), wanted)).toBe(good);
  });
});
