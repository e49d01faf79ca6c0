import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '../model/pod.ts';
import { makeContainer, makePod } from '../testing/builders.ts';
import { ContainerConfigError } from './config-error.ts';
import { buildContainer, type ContainerInput } from './container.ts';

function build(
  overrides: Partial<Container>,
  rest: Partial<ContainerInput> = {},
  spec: Partial<Pod['spec']> = {},
): ReturnType<typeof buildContainer> {
  const container = makeContainer('c', overrides);
  return buildContainer({ pod: makePod({ spec }), container, attempt: 0, env: [], ...rest });
}

describe('container spec', () => {
  it('says only what the pod says', () => {
    expect(build({})).toEqual({
      name: 'c',
      attempt: 0,
      role: 'main',
      image: 'busybox:1',
      env: [],
      mounts: [],
      resources: {},
      security: {},
      terminal: { tty: false, stdin: false, stdinOnce: false },
      labels: expect.objectContaining({ 'io.kubernetes.container.restartCount': '0' }),
    });
  });

  it('expands command and args from the final environment, and workingDir never', () => {
    const env: ContainerInput['env'] = [
      { name: 'A', value: 'x' },
      { name: 'B', value: '$(A)' },
    ];
    const spec = build({ command: ['sh', '$(A)'], args: ['$(B)', '$$(A)', '$(C)'], workingDir: '/$(A)' }, { env });
    expect(spec).toMatchObject({ command: ['sh', 'x'], args: ['$(A)', '$(A)', '$(C)'], workingDir: '/$(A)', env });
  });

  it('counts resources in the units of the contract and drops zeros', () => {
    const resources = {
      requests: { cpu: '100m', memory: '64Mi', 'ephemeral-storage': '1Gi' },
      limits: { cpu: '1.5', memory: '0' },
    };
    expect(build({ resources }, { podPidsLimit: 100 }).resources).toEqual({
      cpuRequestMilli: 100,
      cpuLimitMilli: 1500,
      memoryRequestBytes: 64 * 2 ** 20,
      pidsLimit: 100,
    });
    expect(build({}, { podPidsLimit: -1 }).resources).toEqual({});
  });

  it('mounts what the kubelet writes read-only, and the rest as asked', () => {
    const volumes = [
      { name: 'token', projected: { sources: [] } },
      { name: 'data', emptyDir: {} },
    ];
    const volumeMounts = [
      { name: 'token', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
      { name: 'data', mountPath: '/data' },
      { name: 'data', mountPath: 'relative', readOnly: true },
    ];
    expect(build({ volumeMounts }, {}, { volumes }).mounts).toEqual([
      { volume: 'token', path: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true },
      { volume: 'data', path: '/data', readOnly: false },
      { volume: 'data', path: '/relative', readOnly: true },
    ]);
  });

  it('carries terminal, termination message path and attempt', () => {
    const spec = build({ tty: true, stdin: true, terminationMessagePath: '/dev/termination-log' }, { attempt: 4 });
    expect(spec).toMatchObject({
      attempt: 4,
      terminal: { tty: true, stdin: true, stdinOnce: false },
      terminationMessagePath: '/dev/termination-log',
      labels: { 'io.kubernetes.container.restartCount': '4' },
    });
  });

  it('is refused where it would run as root against the policy', () => {
    const attempt = (): unknown => build({ securityContext: { runAsNonRoot: true } }, { imageUser: '' });
    expect(attempt).toThrow(ContainerConfigError);
    expect(build({ securityContext: { runAsNonRoot: true } }, { imageUser: '65534' }).security).toEqual({});
  });
});
