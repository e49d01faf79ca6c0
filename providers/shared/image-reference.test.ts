import { describe, expect, it } from 'vitest';
import { authsFor, parseImageReference } from './image-reference.ts';

describe('an image reference', () => {
  it.each([
    ['nginx', 'nginx', 'latest', 'docker.io', 'docker.io/library/nginx'],
    ['nginx:1.27', 'nginx', '1.27', 'docker.io', 'docker.io/library/nginx'],
    ['user/app', 'user/app', 'latest', 'docker.io', 'docker.io/user/app'],
    ['localhost/app:1', 'localhost/app', '1', 'localhost', 'localhost/app'],
    ['reg.example:5000/a/b', 'reg.example:5000/a/b', 'latest', 'reg.example:5000', 'reg.example:5000/a/b'],
    ['index.docker.io/library/x:2', 'index.docker.io/library/x', '2', 'docker.io', 'docker.io/library/x'],
    ['r.io/a@sha256:abc', 'r.io/a', 'sha256:abc', 'r.io', 'r.io/a'],
    ['r.io/a:tag@sha256:abc', 'r.io/a', 'sha256:abc', 'r.io', 'r.io/a'],
  ])('%s', (image, repository, tag, registry, path) => {
    expect(parseImageReference(image)).toEqual({ repository, tag, registry, path });
  });
});

describe('credentials for an image', () => {
  const matches = (image: string, registry: string): boolean => authsFor(image, [{ registry }]).length === 1;

  it.each([
    ['nginx', 'https://index.docker.io/v1/', true],
    ['nginx', 'docker.io', true],
    ['nginx', 'quay.io', false],
    ['quay.io/a/b', 'quay.io', true],
    ['quay.io/a/b', 'https://quay.io/v2', true],
    ['quay.io/a/b', 'quay.io/a', true],
    ['quay.io/ab/b', 'quay.io/a', false],
    ['eu.gcr.io/a', '*.gcr.io', true],
    ['gcr.io/a', '*.gcr.io', false],
    ['a.b.gcr.io/a', '*.gcr.io', false],
    ['reg:5000/a', 'reg:5000', true],
    ['reg:5000/a', 'reg', false],
  ])('%s and those of %s: %s', (image, registry, expected) => {
    expect(matches(image, registry)).toBe(expected);
  });
});
