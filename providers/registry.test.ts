import { expect, test } from 'vitest';
import { loadProvider } from './registry.ts';

test('loads a provider by its name', async () => {
  expect((await loadProvider('fake')).name).toBe('fake');
});

test.each(['podman', 'constructor', ''])('an unknown name %j is answered with the known ones', async (name) => {
  await expect(loadProvider(name)).rejects.toThrow(`unknown provider "${name}" (known: docker, fake)`);
});
