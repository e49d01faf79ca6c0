import type { NetworkSpec, SandboxSpec, VolumeSpec } from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';
import type { NodeFacts } from '../model/stores.ts';
import { podRecord, printPodLabels } from './labels.ts';
import type { SandboxNames } from './names.ts';
import { podPorts } from './ports.ts';
import { normalSysctl } from './sysctls.ts';

export interface SandboxInput {
  readonly pod: Pod;
  readonly attempt: number;
  readonly volumes: readonly VolumeSpec[];
  readonly facts: Pick<NodeFacts, 'podCidr'>;
  /** From sandboxNames. */
  readonly names: SandboxNames;
  /** From podDns; undefined leaves the backend's own resolver. */
  readonly dns: NetworkSpec['dns'];
  /** Annotations that start with this (`docker.outrigger/`) go to the provider, without it. */
  readonly hintsPrefix: string;
  /** Handler of the pod's RuntimeClass. */
  readonly runtimeHandler?: string;
}

export function buildSandbox({
  pod,
  attempt,
  volumes,
  facts,
  names,
  dns,
  hintsPrefix,
  runtimeHandler,
}: SandboxInput): SandboxSpec {
  const record = podRecord(pod);
  const sysctls = pod.spec.securityContext?.sysctls ?? [];
  return {
    pod: record.pod,
    attempt,
    hostname: names.hostname,
    network: {
      mode: pod.spec.hostNetwork === true ? 'host' : 'pod',
      ...(facts.podCidr !== undefined && { subnet: facts.podCidr }),
      ports: podPorts(pod),
      ...(dns !== undefined && { dns }),
      ...(names.hostnames !== undefined && { hostnames: names.hostnames }),
      hostAliases: (pod.spec.hostAliases ?? []).map(({ ip, hostnames = [] }) => ({ ip, hostnames })),
    },
    volumes,
    sharePidNamespace: pod.spec.shareProcessNamespace === true,
    ...(pod.spec.hostPID === true && { hostPid: true }),
    ...(pod.spec.hostIPC === true && { hostIpc: true }),
    ...(sysctls.length > 0 && {
      sysctls: Object.fromEntries(sysctls.map(({ name, value }) => [normalSysctl(name), value])),
    }),
    ...(runtimeHandler !== undefined && runtimeHandler !== '' && { runtimeHandler }),
    labels: printPodLabels(record),
    hints: hintsOf(pod, hintsPrefix),
  };
}

function hintsOf(pod: Pod, prefix: string): Readonly<Record<string, string>> {
  const hints = Object.entries(pod.metadata.annotations ?? {}).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(hints.map(([key, value]) => [key.slice(prefix.length), value]));
}
