import type { CallOptions, ContainerSpec } from '../../providers/contract/index.ts';
import { findContainer } from '../model/containers.ts';
import type { Pod, Service } from '../model/pod.ts';
import { buildContainer } from '../spec/container.ts';
import { composeEnv } from '../spec/env.ts';
import { readEnvObjects } from './env-objects.ts';
import type { ExecutorDeps } from './executor-deps.ts';

interface ContainerSpecInput {
  readonly pod: Pod;
  readonly name: string;
  readonly attempt: number;
  /** What the sandbox reported; empty where the backend gives an address only after the start. */
  readonly podIPs: readonly string[];
  readonly imageUser?: string;
}

type SpecDeps = Pick<ExecutorDeps, 'services' | 'facts' | 'settings' | 'objects' | 'provider'>;

/** Specification of one incarnation, from the pod and what the node knows now. Throws ContainerConfigError. */
export async function containerSpec(
  { services, facts, settings, objects, provider }: SpecDeps,
  { pod, name, attempt, podIPs, imageUser }: ContainerSpecInput,
  options: CallOptions,
): Promise<ContainerSpec> {
  const found = findContainer(pod, name);
  if (found === undefined) throw new Error(`the pod has no container ${name}`);
  const { container, role } = found;
  const env = composeEnv({
    pod,
    container,
    services: visibleServices(services, pod.metadata.namespace),
    hostIPs: facts()?.hostIPs ?? [],
    podIPs,
    allocatable: facts()?.allocatable,
    objects: await readEnvObjects(pod, container, { objects, provider }, options),
  });
  const { podPidsLimit } = settings;
  const nodeMemoryBytes = facts()?.allocatable.memoryBytes;
  const targetContainer = pod.spec.ephemeralContainers?.find(
    (ephemeral) => ephemeral.name === name,
  )?.targetContainerName;
  return buildContainer({
    pod,
    container,
    role,
    attempt,
    env,
    ...(imageUser === undefined ? {} : { imageUser }),
    ...(podPidsLimit === undefined ? {} : { podPidsLimit }),
    ...(nodeMemoryBytes === undefined ? {} : { nodeMemoryBytes }),
    ...(targetContainer === undefined ? {} : { targetContainer }),
  });
}

/** Those of the pod's namespace, and of `default` for the API server's own (reference 10.5); composeEnv chooses among them. */
function visibleServices(services: ExecutorDeps['services'], namespace: string): readonly Service[] | undefined {
  const own = services.forNamespace(namespace);
  if (own === undefined || namespace === 'default') return own;
  return [...own, ...(services.forNamespace('default') ?? [])];
}
