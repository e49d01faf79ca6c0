import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { SIMULATED } from '../matrix.ts';
import { AuditLog } from '../parts/audit.ts';
import { Authority } from '../parts/certs.ts';
import { type ControlPlane, startControlPlane } from '../parts/control-plane.ts';
import type { Kube } from '../parts/kube.ts';
import { nodeAddress } from '../parts/node-address.ts';
import { type Outrigger, startNode } from '../parts/outrigger.ts';
import {
  allowBootstrapping,
  approve,
  CLIENT_SIGNER,
  isPending,
  SERVING_SIGNER,
  type SigningRequest,
  signingRequests,
} from '../parts/signing.ts';
import { TestBed } from '../parts/test-bed.ts';
import { eventually, isReady, PATIENCE_MS, podDraft, shell, UNTIL_TOLD } from '../scene.ts';

const NODE = 'certified';
const USER = `system:node:${NODE}`;
const TOKEN = { id: 'abcdef', secret: '0123456789abcdef' };

// A control plane that signs what is approved, and verifies kubelets. One story: each test goes on where the one before ended.
describe('certificates from the cluster', () => {
  let bed: TestBed;
  let plane: ControlPlane;
  let kube: Kube;
  let audit: AuditLog;
  let node: Outrigger;
  let pki: string;
  let kubeconfig: string;
  let namespace: string;

  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
    audit = new AuditLog(bed.folder('certificates-audit'), USER);
    plane = await startControlPlane({
      dir: bed.folder('signing-plane'),
      parts: ['apiserver', 'controller-manager'],
      flags: { apiserver: ['--enable-bootstrap-token-auth', ...audit.flags] },
    });
    kube = await plane.kube();
    await allowBootstrapping(kube, TOKEN);
    pki = join(plane.dir, 'nodes/pki', NODE);
    kubeconfig = join(plane.dir, 'nodes', 'certified.kubeconfig');
  });
  afterAll(async () => {
    await node?.stop();
    kube?.close();
    await plane?.stop();
    await bed.close();
  });

  const start = (nodeIp: string): Promise<Outrigger> =>
    startNode({
      plane,
      nodeName: NODE,
      nodeIp,
      kubeconfig,
      provider: SIMULATED.provider,
      providerConfig: { kind: 'container' },
      serving: 'requested',
      args: [
        `--bootstrap-kubeconfig=${plane.bootstrapKubeconfig(`${TOKEN.id}.${TOKEN.secret}`)}`,
        '--rotate-certificates',
      ],
    });
  const current = (kind: 'client' | 'server'): X509Certificate =>
    new X509Certificate(readFileSync(join(pki, `kubelet-${kind}-current.pem`)));
  const pending = (signer: string): Promise<SigningRequest> =>
    eventually('a request that waits', async () => (await signingRequests(kube, signer)).find(isPending));

  it('a bootstrap token becomes a client certificate, and the kubeconfig points at it', async () => {
    node = await start(nodeAddress());
    await node.waitReady(kube);
    const [request] = await signingRequests(kube, CLIENT_SIGNER);
    expect(request?.spec).toMatchObject({
      username: `system:bootstrap:${TOKEN.id}`,
      usages: ['digital signature', 'client auth'],
    });
    expect(request?.spec.expirationSeconds).toBeUndefined();
    expect(current('client').subject).toBe(`O=system:nodes\nCN=${USER}`);
    expect(statSync(join(pki, 'kubelet-client-current.pem')).mode & 0o777).toBe(0o600);
    expect(parse(readFileSync(kubeconfig, 'utf8'))).toMatchObject({
      'current-context': 'default-context',
      users: [{ name: 'default-auth', user: { 'client-certificate': join(pki, 'kubelet-client-current.pem') } }],
    });
  });

  it('while nobody approves the serving certificate the port answers no TLS, and the node says why', async () => {
    namespace = await kube.createNamespace();
    await kube.create(podDraft({ node: NODE, namespace }, 'p', shell(`echo here; ${UNTIL_TOLD}`)));
    await kube.waitFor('Pod', 'p', 'Ready', isReady, { namespace, timeoutMs: PATIENCE_MS });
    const request = await pending(SERVING_SIGNER);
    expect(request.spec.username).toBe(USER);
    await expect(handshake(node.port)).rejects.toThrow(/alert handshake failure/);
    await expect(kube.logs('p', {}, namespace)).rejects.toThrow(/remote error: tls: handshake failure/);
    const line = await eventually('an event of the Node', async () =>
      (await kube.eventLines(NODE)).split('\n').find((text) => text.includes('ServingCertificateNotIssued')),
    );
    expect(line).toContain(`CertificateSigningRequest ${request.metadata.name} is not approved or not signed yet`);
    expect(await node.healthy()).toBe(true);
    expect(isPending(await kube.get('CertificateSigningRequest', request.metadata.name))).toBe(true);
  });

  it('once it is approved logs come, from a server that the API server verifies', async () => {
    await approve(kube, await pending(SERVING_SIGNER));
    const text = await eventually('logs', () => kube.logs('p', {}, namespace).catch(() => undefined));
    expect(text).toBe('here\n');
    expect(current('server').subjectAltName).toBe(`DNS:${NODE}, IP Address:${nodeAddress()}`);
  });

  it('after a restart with another address and an old client certificate both are new; nothing is lost meanwhile', async () => {
    const before = current('server');
    await node.stop();
    const old = await oldClientCertificate(plane);
    const link = readdirSync(pki).find((name) => /^kubelet-client-\d/.test(name));
    writeFileSync(join(pki, link ?? ''), old, { mode: 0o600 });
    const [earlier] = await signingRequests(kube, CLIENT_SIGNER);

    node = await start('127.0.0.1');
    await approve(kube, await pending(SERVING_SIGNER));
    const renewed = await eventually('a renewed client certificate', () => {
      const certificate = current('client');
      return certificate.fingerprint256 === new X509Certificate(old).fingerprint256 ? undefined : certificate;
    });
    const requests = await signingRequests(kube, CLIENT_SIGNER);
    expect(requests.filter(({ spec }) => spec.username === USER).length).toBeGreaterThan(0);
    expect(requests[0]?.metadata.name).toBe(earlier?.metadata.name);
    const text = await eventually('logs', () => kube.logs('p', {}, namespace).catch(() => undefined));
    expect(text).toBe('here\n');
    const issued = current('server');
    expect(issued.subjectAltName).toBe(`DNS:${NODE}, IP Address:127.0.0.1`);
    expect(issued.serialNumber).not.toBe(before.serialNumber);
    const sha256 = (certificate: X509Certificate): string =>
      certificate.fingerprint256.replaceAll(':', '').toLowerCase();
    await eventually('requests under the new certificate only', () => {
      const last = audit.read().slice(-3);
      return last.every(({ certificate }) => certificate === sha256(renewed));
    });
  });

  it('never asked for an approval', () => {
    const touched = audit.read().filter(({ resource }) => resource.startsWith('certificatesigningrequests'));
    expect([...new Set(touched.map(({ verb, resource }) => `${verb} ${resource}`))].sort()).toEqual(
      ['create', 'list', 'watch'].map((verb) => `${verb} certificatesigningrequests.certificates.k8s.io`),
    );
    expect(node.log()).not.toContain('PRIVATE KEY');
  });
});

function handshake(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      socket.destroy();
      resolve();
    });
    socket.on('error', reject);
  });
}

/** Certificate and key, valid for another hour of ten days: due for renewal. */
async function oldClientCertificate(plane: ControlPlane): Promise<string> {
  const authority = await Authority.open(join(plane.dir, 'keys'), 'ca');
  const now = Date.now();
  const validity = { notBefore: new Date(now - 10 * 86_400_000), notAfter: new Date(now + 3_600_000) };
  const { cert, key } = await authority.issue({ commonName: USER, organization: 'system:nodes', validity });
  return `${cert}\n${key}\n`;
}
