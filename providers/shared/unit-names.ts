import type { ContainerRef, PodIdentity, PodUid } from '../contract/index.ts';

/**
 * Names of everything made on an engine. They are the engine's own guard against making a thing twice (a name is taken once),
 * and part of the durable format: a later version must find what an earlier one made. Container names are DNS labels, so the
 * upper-case words cannot collide with one.
 */

export function containerName(ref: ContainerRef, podName: string): string {
  return `outrigger_${ref.container}_${podName}_${ref.podUid}_${ref.attempt}`;
}

export function sandboxName(pod: PodIdentity, attempt: number): string {
  return `outrigger_POD_${pod.name}_${pod.uid}_${attempt}`;
}

/** The sandbox until its volumes are filled; the rename to `sandboxName` is what makes it ready, and survives a crash. */
export function unfilledSandboxName(pod: PodIdentity, attempt: number): string {
  return `outrigger_PREPARE_${pod.name}_${pod.uid}_${attempt}`;
}

export function isUnfilledSandboxName(name: string): boolean {
  return name.replace(/^\//, '').startsWith('outrigger_PREPARE_');
}

/** One per pod, not per sandbox: an emptyDir outlives a replaced sandbox. */
export function volumeName(uid: PodUid, volume: string): string {
  return `outrigger_${uid}_${volume}`;
}

export function networkName(nodeName: string): string {
  return `outrigger_${nodeName}`;
}
