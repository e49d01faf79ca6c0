import type { ContainerSpec } from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';
import { buildContainer } from '../spec/container.ts';
import { composeEnv } from '../spec/env.ts';
import type { ExecutorDeps } from './executor-deps.ts';
import { containerOf } from './turn.ts';

interface ContainerSpecInput {
  readonly pod: Pod;
  readonly name: string;
  readonly attempt: number;
  /** What the sandbox reported; empty where the backend gives an address only after the start. */
  readonly podIPs: readonly string[];
  readonly imageUser?: string;
}

/** Specification of one incarnation, from the pod and what the node knows now. Throws ContainerConfigError. */
export function containerSpec(
  { services, facts, settings }: Pick<ExecutorDeps, 'services' | 'facts' | 'settings'>,
  { pod, name, attempt, podIPs, imageUser }: ContainerSpecInput,
): ContainerSpec {
  const container = containerOf(pod, name);
  const env = composeEnv({
    pod,
    container,
    services: services.forNamespace(pod.metadata.namespace),
    hostIPs: facts()?.hostIPs ?? [],
    podIPs,
  });
  const { podPidsLimit } = settings;
  return buildContainer({
    pod,
    container,
    attempt,
    env,
    ...(imageUser === undefined ? {} : { imageUser }),
    ...(podPidsLimit === undefined ? {} : { podPidsLimit }),
  });
}
