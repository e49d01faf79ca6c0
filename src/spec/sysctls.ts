import type { Pod } from '../model/pod.ts';

type Namespace = 'IPC' | 'Net';

/** Those that belong to a pod alone and do no harm to others (safeSysctls in pkg/kubelet/sysctl); kernels that Docker runs on have all. */
const SAFE: ReadonlyMap<string, Namespace> = new Map([
  ['kernel.shm_rmid_forced', 'IPC'],
  ['net.ipv4.ip_local_port_range', 'Net'],
  ['net.ipv4.tcp_syncookies', 'Net'],
  ['net.ipv4.ping_group_range', 'Net'],
  ['net.ipv4.ip_unprivileged_port_start', 'Net'],
  ['net.ipv4.ip_local_reserved_ports', 'Net'],
  ['net.ipv4.tcp_keepalive_time', 'Net'],
  ['net.ipv4.tcp_fin_timeout', 'Net'],
  ['net.ipv4.tcp_keepalive_intvl', 'Net'],
  ['net.ipv4.tcp_keepalive_probes', 'Net'],
  ['net.ipv4.tcp_rmem', 'Net'],
  ['net.ipv4.tcp_wmem', 'Net'],
]);

/** Why the pod may not have its sysctls, in the kubelet's words (patternAllowlist.Admit, reference 6.2). */
export function forbiddenSysctl({ spec }: Pod): string | undefined {
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const why = forbidden(normalSysctl(name), spec.hostNetwork === true, spec.hostIPC === true);
    if (why !== undefined) return `forbidden sysctl: ${why}`;
  }
  return undefined;
}

function forbidden(name: string, hostNetwork: boolean, hostIpc: boolean): string | undefined {
  const namespace = SAFE.get(name);
  if (namespace === undefined) return `${JSON.stringify(name)} not allowlisted`;
  if (namespace === 'IPC' && hostIpc) return `${JSON.stringify(name)} not allowed with host IPC enabled`;
  if (namespace === 'Net' && hostNetwork) return `${JSON.stringify(name)} not allowed with host Net enabled`;
  return undefined;
}

/** Dots separate; where the first separator is a slash, slashes do and dots belong to names (NormalizeName). */
export function normalSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  return first === '/' ? name.replace(/[./]/g, (sign) => (sign === '/' ? '.' : '/')) : name;
}
