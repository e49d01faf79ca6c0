import { describe, expect, it } from 'vitest';
import { makeContainer, makePod } from '../testing/builders.ts';
import type { Container } from './pod.ts';
import { shouldRestart } from './restart.ts';

function restarts(podPolicy: 'Always' | 'OnFailure' | 'Never' | undefined, own: Partial<Container>, exitCode: number) {
  const container = makeContainer('c', own);
  const pod = makePod({ spec: { containers: [container] } });
  if (podPolicy === undefined) delete pod.spec.restartPolicy;
  else pod.spec.restartPolicy = podPolicy;
  return shouldRestart(pod, container, exitCode);
}

// reference 2.2 (ContainerShouldRestart)
describe('a container that exited', () => {
  it.each([
    ['Always', 0, true],
    ['Always', 1, true],
    ['OnFailure', 0, false],
    ['OnFailure', 1, true],
    ['Never', 0, false],
    ['Never', 1, false],
    [undefined, 0, true],
  ] as const)('in a pod with policy %s and exit code %i restarts: %s', (policy, exitCode, expected) => {
    expect(restarts(policy, {}, exitCode)).toBe(expected);
  });

  it.each([
    ['Always', 'Never', 1, false],
    ['Never', 'Always', 0, true],
    ['Never', 'OnFailure', 1, true],
    ['Always', 'OnFailure', 0, false],
  ] as const)(
    'follows its own policy: pod %s, container %s, exit code %i: %s',
    (pod, restartPolicy, code, expected) => {
      expect(restarts(pod, { restartPolicy }, code)).toBe(expected);
    },
  );

  it('restarts when its first matching rule says so, even with policy Never', () => {
    const own: Partial<Container> = {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
    };
    expect(restarts('Never', own, 42)).toBe(true);
    expect(restarts('Never', own, 41)).toBe(false);
  });

  it('restarts with its whole pod under a RestartAllContainers rule, and NotIn matches every other code', () => {
    const own: Partial<Container> = {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'NotIn', values: [0, 1] } }],
    };
    expect(restarts('Never', own, 88)).toBe(true);
    expect(restarts('Never', own, 1)).toBe(false);
  });

  it('ignores rules of a container without a policy of its own', () => {
    const own: Partial<Container> = {
      restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
    };
    expect(restarts('Never', own, 42)).toBe(false);
  });
});
