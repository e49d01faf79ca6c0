import type { Container, Pod } from '../model/pod.ts';
import { quantityToBytes } from '../model/quantity.ts';
import { qosClass } from '../model/resources.ts';

const GUARANTEED = -997;
const BEST_EFFORT = 1000;
/** The least that a Burstable container gets, so that a Guaranteed one always goes after it. */
const BURSTABLE_MIN = 1000 + GUARANTEED;

/** Who is killed first when the node runs out of memory (GetContainerOOMScoreAdjust in pkg/kubelet/qos). */
export function oomScoreAdj(pod: Pod, container: Container, memoryBytes: number): number {
  if (pod.spec.priorityClassName === 'system-node-critical') return GUARANTEED;
  switch (qosClass(pod)) {
    case 'Guaranteed':
      return GUARANTEED;
    case 'BestEffort':
      return BEST_EFFORT;
    case 'Burstable': {
      const score = (bytes: number): number => 1000 - Math.trunc((1000 * bytes) / memoryBytes);
      const own = score(memoryRequest(container));
      const adjusted = isSidecarOf(pod, container) ? Math.min(own, score(leastRequest(pod))) : own;
      // Never like a BestEffort one.
      return Math.min(BEST_EFFORT - 1, Math.max(BURSTABLE_MIN, adjusted));
    }
  }
}

function memoryRequest({ resources }: Container): number {
  const text = resources?.requests?.['memory'];
  return text === undefined ? 0 : quantityToBytes(text);
}

/** A sidecar is not killed before the containers that it serves. */
function leastRequest({ spec }: Pod): number {
  return Math.min(...spec.containers.map(memoryRequest));
}

function isSidecarOf({ spec }: Pod, { name, restartPolicy }: Container): boolean {
  return restartPolicy === 'Always' && (spec.initContainers ?? []).some((container) => container.name === name);
}
