import { type Container, type Pod, restartPolicy } from './pod.ts';

/** A restartable init container: it runs beside the main ones (reference 2.6). */
export function isSidecar(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/**
 * Whether a container that ended with `exitCode` starts again (reference 2.2). `container` is one of `spec.containers` or
 * `spec.initContainers`; ephemeral containers never restart and are not asked about.
 */
export function shouldRestart(pod: Pod, container: Container, exitCode: number): boolean {
  if (container.restartPolicy !== undefined) {
    if (matchesRestartRule(container, exitCode)) return true;
    if (container.restartPolicy === 'Always') return true;
    if (container.restartPolicy === 'OnFailure') return exitCode !== 0;
    if (container.restartPolicy === 'Never') return false;
  }
  switch (restartPolicy(pod)) {
    case 'Always':
      return true;
    case 'OnFailure':
      return exitCode !== 0;
    case 'Never':
      return false;
  }
}

/** Only the first rule that matches counts; both known actions restart the container, an unknown one leaves it to the policy. */
function matchesRestartRule(container: Container, exitCode: number): boolean {
  const rule = container.restartPolicyRules?.find(({ exitCodes }) => {
    const listed = exitCodes?.values?.includes(exitCode) ?? false;
    return exitCodes?.operator === 'In' ? listed : exitCodes?.operator === 'NotIn' && !listed;
  });
  return rule?.action === 'Restart' || rule?.action === 'RestartAllContainers';
}

/** Whether a container that we killed for its health starts again, whatever its exit code (reference 4.3). */
export function restartsOnFailure(pod: Pod, container: Container): boolean {
  return (container.restartPolicy ?? restartPolicy(pod)) !== 'Never';
}
