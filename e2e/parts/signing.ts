import type { V1CertificateSigningRequest } from '@kubernetes/client-node';
import type { Kube, Stored } from './kube.ts';

export type SigningRequest = Stored<V1CertificateSigningRequest>;

export const SERVING_SIGNER = 'kubernetes.io/kubelet-serving';
export const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client-kubelet';

/** Oldest first. */
export async function signingRequests(kube: Kube, signer: string): Promise<SigningRequest[]> {
  const all = await kube.list('CertificateSigningRequest', undefined);
  const created = ({ metadata }: SigningRequest): string => metadata.creationTimestamp ?? '';
  return all
    .filter(({ spec }) => spec.signerName === signer)
    .sort((a, b) => (created(a) < created(b) ? -1 : created(a) > created(b) ? 1 : 0));
}

export function isPending({ status }: SigningRequest): boolean {
  return (status?.conditions ?? []).length === 0;
}

/** What an administrator does; the controller manager then signs. */
export async function approve(kube: Kube, { metadata }: SigningRequest): Promise<void> {
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'approved by the test' }];
  const options = { subresource: 'approval' };
  await kube.patch('CertificateSigningRequest', metadata.name, { status: { conditions } }, options);
}

/** Lets whoever has this bootstrap token ask for a node's client certificate, and nodes renew their own, without an approver. */
export async function allowBootstrapping(kube: Kube, { id, secret }: { id: string; secret: string }): Promise<void> {
  const group = 'system:bootstrappers:test';
  await kube.create({
    kind: 'Secret',
    metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': id,
      'token-secret': secret,
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': group,
    },
  });
  const prefix = 'system:certificates.k8s.io:certificatesigningrequests';
  for (const [to, role] of [
    [group, 'system:node-bootstrapper'],
    [group, `${prefix}:nodeclient`],
    ['system:nodes', `${prefix}:selfnodeclient`],
  ] as const) {
    const apiGroup = 'rbac.authorization.k8s.io';
    await kube.create({
      kind: 'ClusterRoleBinding',
      metadata: { name: `test-${role.split(':').at(-1)}` },
      roleRef: { apiGroup, kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup, kind: 'Group', name: to }],
    });
  }
}
