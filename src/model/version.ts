/** The Kubernetes release whose kubelet this is; in the Node, in User-Agents and metrics (reference 5.6, 14.3). */
export const KUBERNETES_VERSION = 'v1.36.3';
