import type { ObservedPod } from '../../providers/contract/index.ts';
import type { Pod, PodStatus } from '../model/pod.ts';

export type Addresses = Pick<PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'>;

/** Addresses of node and pod (reference 1.6). An address of the pod is kept when its network is gone: the API shows where it ran. */
export function computeAddresses(
  pod: Pod,
  observed: ObservedPod | undefined,
  previous: PodStatus,
  nodeIPs: readonly string[] | undefined,
): Addresses {
  const oldHostIPs = addressesOf(previous.hostIP, previous.hostIPs);
  const hostIPs = nodeIPs === undefined || nodeIPs.length === 0 ? oldHostIPs : nodeIPs.slice(0, 2);
  const oldPodIPs = addressesOf(previous.podIP, previous.podIPs);
  const podIPs =
    pod.spec.hostNetwork === true ? hostNetworkIPs(oldPodIPs, hostIPs) : podNetworkIPs(oldPodIPs, hostIPs, observed);
  const [hostIP] = hostIPs;
  const [podIP] = podIPs;
  return {
    ...(hostIP === undefined ? {} : { hostIP, hostIPs: hostIPs.map((ip) => ({ ip })) }),
    ...(podIP === undefined ? {} : { podIP, podIPs: podIPs.map((ip) => ({ ip })) }),
  };
}

/** Immutable once set, except that a second family may join. */
function hostNetworkIPs(old: readonly string[], hostIPs: readonly string[]): readonly string[] {
  const [first] = old.length > 0 ? old : hostIPs;
  const second = old[1] ?? hostIPs[1];
  if (first === undefined) return [];
  return second === undefined || isIPv6(second) === isIPv6(first) ? [first] : [first, second];
}

/** At most one per family, the node's primary family first. */
function podNetworkIPs(
  old: readonly string[],
  hostIPs: readonly string[],
  observed: ObservedPod | undefined,
): readonly string[] {
  const ips = (observed?.ips ?? []).map(canonical);
  if (ips.length === 0) return old;
  const primaryIsIPv6 = hostIPs[0] !== undefined && isIPv6(hostIPs[0]);
  const first = ips.find((ip) => isIPv6(ip) === primaryIsIPv6);
  const second = ips.find((ip) => isIPv6(ip) !== primaryIsIPv6);
  return [first, second].filter((ip) => ip !== undefined);
}

function addressesOf(single: string | undefined, list: readonly { readonly ip?: string }[] | undefined): string[] {
  const many = (list ?? []).map(({ ip }) => ip).filter((ip) => ip !== undefined);
  return many.length > 0 || single === undefined ? many : [single];
}

function isIPv6(ip: string): boolean {
  return ip.includes(':');
}

/** The API wants IPv6 in its shortest form; URL prints that. */
function canonical(ip: string): string {
  return isIPv6(ip) && URL.canParse(`http://[${ip}]`) ? new URL(`http://[${ip}]`).hostname.slice(1, -1) : ip;
}
