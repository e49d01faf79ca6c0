import type { NetworkSpec, SandboxSpec, VolumeSpec } from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';
import type { NodeFacts } from '../model/stores.ts';
import { podRecord, printPodLabels } from './labels.ts';
import { podHostname } from './names.ts';
import { podPorts } from './ports.ts';

export interface SandboxInput {
  readonly pod: Pod;
  readonly attempt: number;
  readonly volumes: readonly VolumeSpec[];
  readonly facts: Pick<NodeFacts, 'podCidr'>;
  /** From podDns; undefined leaves the backend's own resolver. */
  readonly dns: NetworkSpec['dns'];
  /** Annotations that start with this (`docker.outrigger/`) go to the provider, without it. */
  readonly hintsPrefix: string;
}

export function buildSandbox({ pod, attempt, volumes, facts, dns, hintsPrefix }: SandboxInput): SandboxSpec {
  const record = podRecord(pod);
  return {
    pod: record.pod,
    attempt,
    hostname: podHostname(pod),
    network: {
      mode: pod.spec.hostNetwork === true ? 'host' : 'pod',
      ...(facts.podCidr !== undefined && { subnet: facts.podCidr }),
      ports: podPorts(pod),
      ...(dns !== undefined && { dns }),
      hostAliases: [],
    },
    volumes,
    sharePidNamespace: pod.spec.shareProcessNamespace === true,
    labels: printPodLabels(record),
    hints: hintsOf(pod, hintsPrefix),
  };
}

function hintsOf(pod: Pod, prefix: string): Readonly<Record<string, string>> {
  const hints = Object.entries(pod.metadata.annotations ?? {}).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(hints.map(([key, value]) => [key.slice(prefix.length), value]));
}
