import { describe, expect, it } from 'vitest';
import type { Container, Pod } from '../model/pod.ts';
import { formatPod } from '../model/pod.ts';
import { makeContainer, makePod } from '../testing/builders.ts';
import { ContainerConfigError } from './config-error.ts';
import { buildSecurity, commonUser, verifyRunAsNonRoot } from './security.ts';

type PodContext = NonNullable<Pod['spec']['securityContext']>;
type Context = NonNullable<Container['securityContext']>;

function build(pod: PodContext, own: Context, imageUser?: string): ReturnType<typeof buildSecurity> {
  return buildSecurity(
    makePod({ spec: { securityContext: pod } }),
    makeContainer('c', { securityContext: own }),
    imageUser,
  );
}

describe('security of a container', () => {
  it('says nothing when the pod says nothing', () => {
    expect(build({}, {})).toEqual({});
    expect(buildSecurity(makePod(), makeContainer(), undefined)).toEqual({});
  });

  it('takes from the pod what the container leaves open', () => {
    const pod = { runAsUser: 1, runAsGroup: 2, supplementalGroups: [3, 4], seccompProfile: { type: 'RuntimeDefault' } };
    expect(build(pod, {})).toEqual({
      runAsUser: 1,
      runAsGroup: 2,
      supplementalGroups: [3, 4],
      seccompProfile: 'RuntimeDefault',
    });
    expect(build(pod, { runAsUser: 0, seccompProfile: { type: 'Unconfined' } })).toMatchObject({
      runAsUser: 0,
      runAsGroup: 2,
      seccompProfile: 'Unconfined',
    });
  });

  it('carries what only containers have', () => {
    const own = {
      privileged: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
    };
    expect(build({}, own)).toEqual({
      privileged: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      addCapabilities: ['NET_ADMIN'],
      dropCapabilities: ['ALL'],
    });
  });

  it("puts the image's numeric user beside a group that has none", () => {
    expect(build({ runAsGroup: 5 }, {}, '1000:7')).toEqual({ runAsUser: 1000, runAsGroup: 5 });
    expect(build({ runAsGroup: 5 }, {}, '')).toEqual({ runAsUser: 0, runAsGroup: 5 });
    expect(build({ runAsGroup: 5 }, {}, 'nobody')).toEqual({ runAsGroup: 5 });
    expect(build({}, {}, '1000')).toEqual({});
  });
});

// verifyRunAsNonRoot in pkg/kubelet/kuberuntime/security_context.go
describe('runAsNonRoot', () => {
  const pod = makePod({ spec: { securityContext: { runAsNonRoot: true } } });
  const where = `(pod: "${formatPod(pod)}", container: c)`;

  it.each<[string, Context, string | undefined, string | undefined]>([
    ['a numeric user of the image', {}, '1000', undefined],
    ['a numeric user and group of the image', {}, '1000:0', undefined],
    ['a user in the spec', { runAsUser: 1 }, 'root', undefined],
    ['a container that may be root', { runAsNonRoot: false }, '0', undefined],
    ['root in the spec', { runAsUser: 0 }, '1000', `container's runAsUser breaks non-root policy ${where}`],
    ['root in the image', {}, '0', `container has runAsNonRoot and image will run as root ${where}`],
    ['an image without user', {}, '', `container has runAsNonRoot and image will run as root ${where}`],
    ['a backend that does not tell', {}, undefined, `container has runAsNonRoot and image will run as root ${where}`],
    [
      'a name in the image',
      {},
      'nobody:nogroup',
      `container has runAsNonRoot and image has non-numeric user (nobody), cannot verify user is non-root ${where}`,
    ],
  ])('with %s', (_, own, imageUser, expected) => {
    const verify = (): void => verifyRunAsNonRoot(pod, makeContainer('c', { securityContext: own }), imageUser);
    if (expected === undefined) expect(verify).not.toThrow();
    else expect(verify).toThrow(new ContainerConfigError(expected));
  });

  it('is not asked for by default', () => {
    expect(() => verifyRunAsNonRoot(makePod(), makeContainer(), '0')).not.toThrow();
  });
});

// FsUserFrom in pkg/volume/util
describe('the common user of a pod', () => {
  const podOf = (shared: PodContext, ...users: (number | undefined)[]): Pod =>
    makePod({
      spec: {
        securityContext: shared,
        containers: users.map((runAsUser, i) =>
          makeContainer(`c${i}`, runAsUser === undefined ? {} : { securityContext: { runAsUser } }),
        ),
      },
    });

  it('is the one that every container runs as', () => {
    expect(commonUser(podOf({ runAsUser: 7 }, undefined, 7))).toBe(7);
    expect(commonUser(podOf({}, 7, 7))).toBe(7);
    expect(commonUser(podOf({}, 7, 8))).toBeUndefined();
    expect(commonUser(podOf({}, 7, undefined))).toBeUndefined();
    expect(commonUser(podOf({}, undefined))).toBeUndefined();
  });
});
