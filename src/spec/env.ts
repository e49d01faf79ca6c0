import type { Container, Pod, Service } from '../model/pod.ts';
import { ContainerConfigError } from './config-error.ts';
import { expand } from './expand.ts';
import { isEnvField, metadataField } from './field-path.ts';
import { serviceVariables } from './service-env.ts';

export interface EnvInput {
  readonly pod: Pod;
  readonly container: Container;
  /** Of the pod's namespace and of `default`; others are ignored. Undefined until Services have been listed once. */
  readonly services: readonly Service[] | undefined;
  /** Addresses of the node, primary family first. */
  readonly hostIPs: readonly string[];
  /** What the sandbox reported. */
  readonly podIPs: readonly string[];
}

export type Env = readonly (readonly [name: string, value: string])[];

/**
 * The final environment of a container, each name once (reference 10.1). HOSTNAME is not in it: backends derive it from the
 * sandbox's host name. Throws ContainerConfigError with the kubelet's text.
 */
export function composeEnv(input: EnvInput): Env {
  const { pod, container, services } = input;
  const { enableServiceLinks } = pod.spec;
  if (enableServiceLinks === undefined) {
    throw new ContainerConfigError('nil pod.spec.enableServiceLinks encountered, cannot construct envvars');
  }
  if (services === undefined) {
    throw new ContainerConfigError('services have not yet been read at least once, cannot construct envvars');
  }
  const linked = serviceVariables(services, pod.metadata.namespace, enableServiceLinks);
  const own = new Map<string, string>();
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    if (value !== '' || valueFrom === undefined) {
      own.set(
        name,
        expand(value, (reference) => own.get(reference) ?? linked.get(reference)),
      );
      continue;
    }
    const resolved = resolveSource(valueFrom, input);
    if (resolved !== undefined) own.set(name, resolved);
  }
  return [...own, ...[...linked].filter(([name]) => !own.has(name))];
}

type EnvSource = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>;

/** Undefined: the entry is optional and its source is not there; a value of the same name from elsewhere stays. */
function resolveSource(source: EnvSource, input: EnvInput): string | undefined {
  if (source.fieldRef !== undefined) return envField(source.fieldRef.fieldPath, input);
  // Admission refuses the other kinds (unsupported.ts); one that gets here anyway must not start without its value.
  throw new ContainerConfigError(`env source is not supported yet: ${Object.keys(source).join(', ')}`);
}

function envField(path: string, { pod, hostIPs, podIPs }: EnvInput): string {
  if (!isEnvField(path)) throw new ContainerConfigError(`field label not supported: ${path}`);
  switch (path) {
    case 'spec.nodeName':
    case 'spec.host':
      return pod.spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIPs[0] ?? '';
    case 'status.hostIPs':
      return hostIPs.join(',');
    case 'status.podIP':
      return primaryFirst(podIPs, hostIPs)[0] ?? '';
    case 'status.podIPs':
      return primaryFirst(podIPs, hostIPs).join(',');
  }
  return metadataField(pod, path) ?? '';
}

/** Pod addresses in the order of the node's: its primary family first, one per family. */
export function primaryFirst(podIPs: readonly string[], hostIPs: readonly string[]): readonly string[] {
  const v4 = podIPs.find((ip) => !ip.includes(':'));
  const v6 = podIPs.find((ip) => ip.includes(':'));
  const ordered = hostIPs[0]?.includes(':') === true ? [v6, v4] : [v4, v6];
  return ordered.filter((ip) => ip !== undefined);
}
