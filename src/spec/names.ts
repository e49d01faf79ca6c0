import type { Pod } from '../model/pod.ts';

/** Linux takes 64 bytes, the last of which ends the text. */
const MAX_HOSTNAME = 63;

/** Host name of the pod's sandbox (reference 10.6); empty for a pod on the node's own network, which has the node's. */
export function podHostname(pod: Pod): string {
  if (pod.spec.hostNetwork === true) return '';
  const { hostname } = pod.spec;
  const full = hostname === undefined || hostname === '' ? pod.metadata.name : hostname;
  return full.length <= MAX_HOSTNAME ? full : full.slice(0, MAX_HOSTNAME).replace(/[-.]+$/, '');
}
