import type { Kube } from './kube.ts';

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

/**
 * What the program calls under a ServiceAccount, and no more: rights.test.ts compares with what the API server saw, and
 * docs/operations.md lists the same.
 */
const CLUSTER_RULES: Rule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['create', 'get', 'list', 'watch'] },
  { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch', 'delete'] },
  { apiGroups: [''], resources: ['pods/status'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'], verbs: ['get'] },
  { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests'], verbs: ['create', 'list', 'watch'] },
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
];
const LEASE_NAMESPACE = 'kube-node-lease';
const LEASE_RULES: Rule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'get', 'update'] },
];

/** `verb resource`, with the API group behind the resource unless it is core; sorted. */
export const GRANTS: readonly string[] = [...CLUSTER_RULES, ...LEASE_RULES]
  .flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${qualified(resource, group)}`)),
    ),
  )
  .sort();

export function qualified(resource: string, group: string): string {
  return group === '' ? resource : `${resource}.${group}`;
}

export interface AccountOptions {
  /** Resources that it may nothing with: somebody has forgotten them. */
  readonly except?: readonly string[];
}

/** Makes the ServiceAccount with these rights and returns a token for it, good for an hour. */
export async function createServiceAccountToken(
  kube: Kube,
  name: string,
  namespace: string,
  { except = [] }: AccountOptions = {},
): Promise<string> {
  const apiGroup = 'rbac.authorization.k8s.io';
  const subjects = [{ kind: 'ServiceAccount', name, namespace }];
  const rules = CLUSTER_RULES.filter(({ resources }) => !resources.some((resource) => except.includes(resource)));
  const inLeases = { name, namespace: LEASE_NAMESPACE };
  await kube.apply({ kind: 'ServiceAccount', metadata: { name, namespace } });
  await kube.apply({ kind: 'ClusterRole', metadata: { name }, rules });
  const clusterRole = { apiGroup, kind: 'ClusterRole', name };
  await kube.apply({ kind: 'ClusterRoleBinding', metadata: { name }, roleRef: clusterRole, subjects });
  await kube.apply({ kind: 'Role', metadata: inLeases, rules: LEASE_RULES });
  await kube.apply({ kind: 'RoleBinding', metadata: inLeases, roleRef: { apiGroup, kind: 'Role', name }, subjects });
  return await requestToken(kube, name, namespace);
}

/** A token of a ServiceAccount that is there, good for an hour. */
export async function requestToken(kube: Kube, name: string, namespace: string): Promise<string> {
  const answer = await kube.http.text({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } },
  });
  return (JSON.parse(answer) as { status: { token: string } }).status.token; // the API's TokenRequest
}
