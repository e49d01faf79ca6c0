import type { Container, ContainerStatus, Pod, PodStatus } from './pod.ts';
import { isSidecar } from './restart.ts';

/** What a container of a pod is for; also its role in the provider contract (ContainerSpec.role). */
export type ContainerRole = 'init' | 'sidecar' | 'main' | 'ephemeral';

export interface RoleOf {
  readonly container: Container;
  readonly role: ContainerRole;
  /** `spec.initContainers{c}`: the fieldPath of its events (reference 3.1). */
  readonly path: string;
}

/** All containers of the spec, in the order in which they start: init ones and sidecars, main ones, ephemeral ones. */
export function podContainers({ spec }: Pod): readonly RoleOf[] {
  const { initContainers = [], containers, ephemeralContainers = [] } = spec;
  return [
    ...initContainers.map((container) => ({
      container,
      role: isSidecar(container) ? ('sidecar' as const) : ('init' as const),
      path: `spec.initContainers{${container.name}}`,
    })),
    ...containers.map((container) => ({
      container,
      role: 'main' as const,
      path: `spec.containers{${container.name}}`,
    })),
    ...ephemeralContainers.map((container) => ({
      container,
      role: 'ephemeral' as const,
      path: `spec.ephemeralContainers{${container.name}}`,
    })),
  ];
}

/** Names are unique within a pod, over all its lists. */
export function findContainer(pod: Pod, name: string): RoleOf | undefined {
  return podContainers(pod).find(({ container }) => container.name === name);
}

/** The status of one container, in whichever list it is. */
export function containerStatus(status: PodStatus, name: string): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status;
  return [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].find(
    (entry) => entry.name === name,
  );
}
