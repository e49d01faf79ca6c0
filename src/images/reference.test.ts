import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatReference, parseReference, repositoryName, withDefaultTag } from './reference.ts';

const SHA256 = `sha256:${'a'.repeat(64)}`;

describe('parseReference', () => {
  it.each([
    ['busybox', 'docker.io', 'library/busybox', undefined, undefined],
    ['busybox:1.37', 'docker.io', 'library/busybox', '1.37', undefined],
    ['bitnami/redis', 'docker.io', 'bitnami/redis', undefined, undefined],
    ['docker.io/busybox', 'docker.io', 'library/busybox', undefined, undefined],
    ['index.docker.io/a/b:c', 'docker.io', 'a/b', 'c', undefined],
    ['localhost/x:1', 'localhost', 'x', '1', undefined],
    ['127.0.0.1:1/x:1', '127.0.0.1:1', 'x', '1', undefined],
    ['[fd00::1]:5000/a/b', '[fd00::1]:5000', 'a/b', undefined, undefined],
    ['Registry/x', 'Registry', 'x', undefined, undefined],
    ['registry.k8s.io/pause:3.10.2', 'registry.k8s.io', 'pause', '3.10.2', undefined],
    [`ghcr.io/a/b:c@${SHA256}`, 'ghcr.io', 'a/b', 'c', SHA256],
    [`a__b--c.d@${SHA256}`, 'docker.io', 'library/a__b--c.d', undefined, SHA256],
  ])('reads %s', (text, domain, path, tag, digest) => {
    const reference = parseReference(text);
    expect(reference).toEqual({ domain, path, ...(tag && { tag }), ...(digest && { digest }) });
    expect(repositoryName(reference)).toBe(`${domain}/${path}`);
  });

  it.each([
    ['', 'invalid reference format'],
    [':1', 'invalid reference format'],
    ['a b', 'invalid reference format'],
    ['a___b', 'invalid reference format'],
    ['a/', 'invalid reference format'],
    ['/a', 'invalid reference format'],
    ['a:', 'invalid reference format'],
    [`a:${'t'.repeat(129)}`, 'invalid reference format'],
    ['https://x.io/a', 'invalid reference format'],
    ['a\n', 'invalid reference format'],
    ['Busybox', 'invalid reference format: repository name (library/Busybox) must be lowercase'],
    ['Not/A/Valid/Image:Tag', 'invalid reference format: repository name (A/Valid/Image) must be lowercase'],
    ['f'.repeat(64), `invalid repository name (${'f'.repeat(64)}), cannot specify 64-byte hexadecimal strings`],
    [`x.io/${'a'.repeat(256)}`, 'repository name must not be more than 255 characters'],
    [`a@sha256:${'a'.repeat(63)}`, 'invalid checksum digest length'],
    [`a@sha256:${'A'.repeat(64)}`, 'invalid checksum digest format'],
    [`a@md5:${'a'.repeat(32)}`, 'unsupported digest algorithm'],
  ])('refuses %j in the words of the distribution library', (text, message) => {
    expect(() => parseReference(text)).toThrow(expect.objectContaining({ name: 'InvalidReference', message }));
  });

  const component = fc.stringMatching(/^[a-z0-9]{1,8}([._-][a-z0-9]{1,5})?$/);
  const reference = fc.record(
    {
      domain: fc.constantFrom('docker.io', 'registry.k8s.io', 'localhost', 'localhost:5000', '10.0.0.1', '[::1]:80'),
      path: fc.array(component, { minLength: 2, maxLength: 4 }).map((parts) => parts.join('/')),
      tag: fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}$/),
      digest: fc.stringMatching(/^[a-f0-9]{64}$/).map((hex) => `sha256:${hex}`),
    },
    { requiredKeys: ['domain', 'path'] },
  );

  it('reads back what it prints', () => {
    fc.assert(
      fc.property(reference, (value) => {
        expect(parseReference(formatReference(value))).toEqual(value);
      }),
    );
  });

  it('answers any text with a reference or its own error', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        try {
          const parsed = parseReference(text);
          expect(parseReference(formatReference(parsed))).toEqual(parsed);
        } catch (error) {
          expect(error).toMatchObject({ name: 'InvalidReference' });
        }
      }),
    );
  });

  it('stays quick on hostile texts', () => {
    for (const text of ['a'.repeat(200_000), 'a-'.repeat(100_000), 'a.'.repeat(100_000), 'a_'.repeat(100_000)]) {
      const started = performance.now();
      expect(() => parseReference(`${text}!`)).toThrow();
      expect(performance.now() - started).toBeLessThan(1_000);
    }
  });
});

describe('withDefaultTag', () => {
  it('adds :latest only when neither tag nor digest is there, and leaves short names short', () => {
    expect(withDefaultTag('busybox')).toBe('busybox:latest');
    expect(withDefaultTag('x.io:5000/a')).toBe('x.io:5000/a:latest');
    expect(withDefaultTag('busybox:1')).toBe('busybox:1');
    expect(withDefaultTag(`busybox@${SHA256}`)).toBe(`busybox@${SHA256}`);
  });

  it('words the failure as the kubelet does', () => {
    expect(() => withDefaultTag('Not/A/Valid/Image:Tag')).toThrow(
      'Failed to apply default image tag "Not/A/Valid/Image:Tag": couldn\'t parse image name "Not/A/Valid/Image:Tag": invalid reference format: repository name (A/Valid/Image) must be lowercase',
    );
  });
});
