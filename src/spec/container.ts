import type { ContainerSpec, EnvEntry, ResourceSpec } from '../../providers/contract/index.ts';
import type { Container, Pod } from '../model/pod.ts';
import { quantityToBytes, quantityToMilli } from '../model/quantity.ts';
import { expand } from './expand.ts';
import { containerRecord, printContainerLabels } from './labels.ts';
import { buildMounts } from './mounts.ts';
import { oomScoreAdj } from './oom-score.ts';
import { buildSecurity, verifyRunAsNonRoot } from './security.ts';

export interface ContainerInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly role?: ContainerSpec['role'];
  readonly attempt: number;
  /** Whose processes an ephemeral container joins. */
  readonly targetContainer?: string;
  /** From composeEnv. */
  readonly env: readonly EnvEntry[];
  /** USER of the image, where the backend tells (PulledImage.user). */
  readonly imageUser?: string;
  /** KubeletConfiguration.podPidsLimit; absent or negative means no limit. */
  readonly podPidsLimit?: number;
  /** Of the node, for the OOM score; absent leaves it to the backend. */
  readonly nodeMemoryBytes?: number;
}

/** Throws ContainerConfigError where the kubelet would answer CreateContainerConfigError. */
export function buildContainer(input: ContainerInput): ContainerSpec {
  const { pod, container, role = 'main', attempt, env, imageUser, nodeMemoryBytes, targetContainer } = input;
  verifyRunAsNonRoot(pod, container, imageUser);
  const values = new Map(env.map(({ name, value }) => [name, value]));
  const expanded = (texts: readonly string[]): readonly string[] =>
    texts.map((text) => expand(text, (name) => values.get(name)));
  const { command = [], args = [], workingDir = '', terminationMessagePath = '' } = container;
  return {
    name: container.name,
    attempt,
    role,
    image: container.image ?? '',
    ...(command.length > 0 && { command: expanded(command) }),
    ...(args.length > 0 && { args: expanded(args) }),
    ...(workingDir !== '' && { workingDir }),
    env,
    mounts: buildMounts(pod, container, values),
    resources: {
      ...buildResources(container, input.podPidsLimit),
      ...(nodeMemoryBytes !== undefined &&
        nodeMemoryBytes > 0 && { oomScoreAdj: oomScoreAdj(pod, container, nodeMemoryBytes) }),
    },
    security: buildSecurity(pod, container, imageUser),
    terminal: {
      tty: container.tty ?? false,
      stdin: container.stdin ?? false,
      stdinOnce: container.stdinOnce ?? false,
    },
    ...(targetContainer !== undefined && targetContainer !== '' && { targetContainer }),
    ...(terminationMessagePath !== '' && { terminationMessagePath }),
    labels: printContainerLabels(containerRecord(pod, container, attempt)),
  };
}

function buildResources({ resources }: Container, podPidsLimit: number | undefined): ResourceSpec {
  const requests = resources?.requests ?? {};
  const limits = resources?.limits ?? {};
  const cpu = (text: string | undefined): number | undefined => positive(text, quantityToMilli);
  const memory = (text: string | undefined): number | undefined => positive(text, quantityToBytes);
  const values = {
    cpuRequestMilli: cpu(requests['cpu']),
    cpuLimitMilli: cpu(limits['cpu']),
    memoryRequestBytes: memory(requests['memory']),
    memoryLimitBytes: memory(limits['memory']),
    pidsLimit: podPidsLimit !== undefined && podPidsLimit > 0 ? podPidsLimit : undefined,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A quantity of zero sets nothing: the kubelet hands it to the runtime as "no limit". */
function positive(text: string | undefined, read: (text: string) => number): number | undefined {
  const value = text === undefined ? 0 : read(text);
  return value > 0 ? value : undefined;
}
