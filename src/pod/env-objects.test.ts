import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../providers/contract/index.ts';
import { makeContainer, makePod, POD_UID } from '../testing/builders.ts';
import { type ObjectSource, readEnvObjects } from './env-objects.ts';

const options = { signal: new AbortController().signal };
const meta = { name: 'x', namespace: 'ns', uid: 'u' };
const container = makeContainer('c', {
  envFrom: [{ configMapRef: { name: 'cm' } }],
  env: [
    { name: 'S', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    { name: 'F', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'a/b', key: 'k' } } },
  ],
});

function source(overrides: Partial<ObjectSource> = {}): ObjectSource & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    configMap: async (uid, namespace, name) => {
      asked.push(`${uid} ${namespace}/${name}`);
      return { metadata: meta, data: { a: 'b' } };
    },
    secret: async () => undefined,
    ...overrides,
  };
}

describe('what a container refers to', () => {
  it('is read once, for the pod', async () => {
    const objects = source();
    const provider = { readVolumeFile: async () => Buffer.from("k='v'") };
    const found = await readEnvObjects(makePod(), container, { objects, provider }, options);
    expect(objects.asked).toEqual([`${POD_UID} ns/cm`]);
    expect(found.configMap('cm')?.data).toEqual({ a: 'b' });
    expect(found.secret('s')).toBeUndefined();
    expect(Buffer.from(found.file('v', 'a/b') ?? []).toString()).toBe("k='v'");
  });

  it('throws a failure only when it is asked for', async () => {
    const objects = source({ secret: async () => Promise.reject(new Error('forbidden')) });
    const found = await readEnvObjects(makePod(), container, { objects, provider: {} }, options);
    expect(found.configMap('cm')).toBeDefined();
    expect(() => found.secret('s')).toThrow('forbidden');
    expect(found.file('v', 'a/b')).toBeUndefined();
  });

  it('waits with everything while the backend is away', async () => {
    const provider = { readVolumeFile: () => Promise.reject(new ProviderError('Unavailable', 'gone')) };
    await expect(readEnvObjects(makePod(), container, { objects: source(), provider }, options)).rejects.toThrow(
      'gone',
    );
  });
});
