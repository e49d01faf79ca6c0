import { createHash } from 'node:crypto';
import type { CallOptions, ProviderContext, ProviderErrorCode, PulledImage } from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';

export interface FakeImagesOptions {
  readonly registry: 'any' | readonly string[];
  readonly present: readonly string[];
  readonly pullMs: number;
  readonly pullErrors: Readonly<Record<string, { readonly code: ProviderErrorCode; readonly message: string }>>;
}

/** The machine's images and the registry behind it. */
export class FakeImages {
  /** Reference to image; a test may set an image's `user` here. */
  readonly present = new Map<string, PulledImage>();
  /** Image reference to the failure that pulling it gives, until it is taken out. */
  readonly pullErrors = new Map<string, ProviderError>();
  registry: 'any' | ReadonlySet<string>;
  pullMs: number;
  /** How many pulls really went to the registry, by reference. */
  readonly pulls = new Map<string, number>();
  readonly #clock: ProviderContext['clock'];

  constructor(options: FakeImagesOptions, clock: ProviderContext['clock']) {
    this.#clock = clock;
    this.registry = options.registry === 'any' ? 'any' : new Set(options.registry);
    this.pullMs = options.pullMs;
    for (const image of options.present) this.present.set(image, describeImage(image));
    for (const [image, { code, message }] of Object.entries(options.pullErrors))
      this.pullErrors.set(image, new ProviderError(code, message));
  }

  find(image: string): PulledImage | undefined {
    const byName = this.present.get(image);
    if (byName !== undefined || !image.startsWith('sha256:')) return byName;
    return [...this.present.values()].find(({ imageId }) => imageId === image);
  }

  async pull(image: string, { signal }: CallOptions): Promise<PulledImage> {
    this.pulls.set(image, (this.pulls.get(image) ?? 0) + 1);
    if (this.pullMs > 0) await this.#clock.sleep(this.pullMs, { signal });
    const error = this.pullErrors.get(image);
    if (error !== undefined) throw error;
    if (this.registry !== 'any' && !this.registry.has(image))
      throw new ProviderError('ImageNotFound', `image ${image} not found in the registry`);
    const pulled = this.present.get(image) ?? describeImage(image);
    this.present.set(image, pulled);
    return pulled;
  }

  list(): { id: string; names: readonly string[]; sizeBytes: number }[] {
    const byId = new Map<string, { id: string; names: string[]; sizeBytes: number }>();
    for (const [name, { imageId, sizeBytes }] of this.present) {
      const entry = byId.get(imageId) ?? { id: imageId, names: [], sizeBytes: sizeBytes ?? 0 };
      entry.names.push(name);
      byId.set(imageId, entry);
    }
    return [...byId.values()];
  }

  remove(id: string): void {
    const names = [...this.present].filter(([name, image]) => name === id || image.imageId === id);
    if (names.length === 0) throw new ProviderError('NotFound', `no such image: ${id}`);
    for (const [name] of names) this.present.delete(name);
  }
}

/** The same reference is always the same image. */
function describeImage(image: string): PulledImage {
  return { imageId: `sha256:${createHash('sha256').update(image).digest('hex')}`, sizeBytes: 1_000_000 };
}
