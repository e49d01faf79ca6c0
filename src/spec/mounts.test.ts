import { describe, expect, it } from 'vitest';
import { makeContainer, makePod } from '../testing/builders.ts';
import { ContainerConfigError } from './config-error.ts';
import { buildMounts } from './mounts.ts';

const pod = makePod({
  spec: {
    volumes: [
      { name: 'd', emptyDir: {} },
      { name: 'cm', configMap: { name: 'cm' } },
    ],
  },
});
const env = new Map([
  ['POD', 'web-0'],
  ['EMPTY', ''],
]);
const mount = (overrides: object): readonly object[] =>
  buildMounts(pod, makeContainer('c', { volumeMounts: [{ name: 'd', mountPath: '/d', ...overrides }] }), env);

// reference 9.8, makeMounts
describe('a mount of a volume', () => {
  it('may be of one path in it, with variables of the container filled in', () => {
    expect(mount({ subPath: 'a/b/' })).toMatchObject([{ subPath: 'a/b' }]);
    expect(mount({ subPathExpr: 'logs/$(POD)/$$x' })).toMatchObject([{ subPath: 'logs/web-0/$x' }]);
    expect(mount({ subPath: '.' })).toEqual([{ volume: 'd', path: '/d', readOnly: false }]);
    expect(mount({ subPath: '..2026' })).toMatchObject([{ subPath: '..2026' }]);
  });

  it.each([
    [{ subPathExpr: '$(NONE)/$(EMPTY)/$(POD)' }, 'missing value for EMPTY, NONE'],
    [{ subPathExpr: '/$(POD)' }, 'error SubPath `/web-0` must not be an absolute path'],
    [{ subPathExpr: '$(POD)/../..' }, "unable to provision SubPath `web-0/../..`: must not contain '..'"],
  ])('fails with the words of the kubelet: %j', (overrides, message) => {
    expect(() => mount(overrides)).toThrow(new ContainerConfigError(message));
  });

  it('hands later mounts on where that is asked for', () => {
    expect(mount({ mountPropagation: 'HostToContainer' })).toMatchObject([{ propagation: 'HostToContainer' }]);
    expect(mount({ mountPropagation: 'None' })).toEqual([{ volume: 'd', path: '/d', readOnly: false }]);
  });

  it('is never writable where the node fills the volume', () => {
    expect(mount({ name: 'cm', readOnly: false })).toMatchObject([{ readOnly: true }]);
  });
});
