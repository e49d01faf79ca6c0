/** Collections of the API server that a kubelet talks to. Names are encoded: a name from a flag must not become another path. */
export function namespaced(namespace: string, resource: string, ...rest: readonly string[]): string {
  return `/api/v1/namespaces/${[namespace, resource, ...rest].map(encodeURIComponent).join('/')}`;
}

export function clusterScoped(resource: string, ...rest: readonly string[]): string {
  return `/api/v1/${[resource, ...rest].map(encodeURIComponent).join('/')}`;
}

/** The Lease of a node (reference 5.8). */
export function nodeLeasePath(name?: string): string {
  const collection = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
  return name === undefined ? collection : `${collection}/${encodeURIComponent(name)}`;
}
