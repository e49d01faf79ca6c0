import { expect } from 'vitest';
import type { ContainerProvider } from '../contract/index.ts';
import type { Case } from './case.ts';

export const containerImages: readonly Case<ContainerProvider>[] = [
  {
    name: 'finds an image that is present, with its digest',
    run: async (provider, world) => {
      await world.haveImage(provider);
      const image = await provider.images.imagePresent(world.harness.shellImage, world.options);
      expect(image?.imageId).toMatch(/sha256:[0-9a-f]{64}$/);
    },
  },
  {
    name: 'does not find an image that is absent',
    run: async (provider, world) => {
      expect(await provider.images.imagePresent(world.harness.missingImage, world.options)).toBeUndefined();
    },
  },
  {
    name: 'fails the pull of an image that no registry has with a ProviderError',
    run: async (provider, world) => {
      const pull = provider.images.pullImage(world.harness.missingImage, [], world.options);
      // A registry that hides what it lacks says "denied", one that does not answer is Internal: Unavailable is the backend itself.
      await expect(pull).rejects.toMatchObject({
        name: 'ProviderError',
        code: expect.stringMatching(/^(ImageNotFound|ImagePullDenied|Internal)$/),
      });
    },
  },
  {
    name: 'lists its images by name',
    run: async (provider, world) => {
      await world.haveImage(provider);
      const images = await provider.images.listImages(world.options);
      const mine = images.find(({ names }) => names.includes(world.harness.shellImage));
      expect(mine?.id).not.toBe('');
      expect(mine?.sizeBytes).toBeGreaterThan(0);
    },
  },
  {
    name: 'says NotFound of the removal of an image that it does not have',
    run: async (provider, world) => {
      await expect(provider.images.removeImage(`sha256:${'0'.repeat(64)}`, world.options)).rejects.toMatchObject({
        code: 'NotFound',
      });
    },
  },
];
