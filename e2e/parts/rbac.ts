import type { Kube } from './kube.ts';

/** What the program calls when it runs under a ServiceAccount: no more, so that a test fails when it starts to call something else. */
const RULES = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['create', 'get', 'list', 'watch', 'patch', 'update'] },
  { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch', 'update'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'delete'] },
  { apiGroups: [''], resources: ['pods/status'], verbs: ['get', 'patch', 'update'] },
  { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['services', 'serviceaccounts'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'get', 'update', 'patch', 'delete'] },
  { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['get', 'list', 'watch'] },
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];

/** Makes the ServiceAccount with these rights and returns a token for it, good for an hour. */
export async function createServiceAccountToken(kube: Kube, name: string, namespace: string): Promise<string> {
  await kube.apply({ kind: 'ServiceAccount', metadata: { name, namespace } });
  await kube.apply({ kind: 'ClusterRole', metadata: { name }, rules: RULES });
  await kube.apply({
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const answer = await kube.http.text({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
  });
  return (JSON.parse(answer) as { status: { token: string } }).status.token; // the API's TokenRequest
}
