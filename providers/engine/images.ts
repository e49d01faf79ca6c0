import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import {
  type CallOptions,
  type ImageFacet,
  ProviderError,
  type PulledImage,
  type RegistryAuth,
} from '../contract/index.ts';
import { authsFor, parseImageReference } from '../shared/image-reference.ts';
import { lines } from '../shared/lines.ts';
import { asReadable, streamFailure, unlessSilent } from './calls.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { recoded, statusBehind } from './errors.ts';
import { imageIdOf } from './observe.ts';
import { pullError, pullFailure, pullRefusal } from './pull-stream.ts';

const MAX_PROGRESS_BYTES = 1024 * 1024;
/** A registry that falls silent inside a layer would otherwise hold up every pull behind this one (as long as containerd waits). */
const PULL_SILENCE_MS = 300_000;

export class EngineImages implements ImageFacet {
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async imagePresent(image: string, options: CallOptions): Promise<PulledImage | undefined> {
    const found = await this.#inspect(image, options);
    return found === undefined ? undefined : pulled(image, found);
  }

  async pullImage(image: string, auth: readonly RegistryAuth[], options: CallOptions): Promise<PulledImage> {
    const candidates: (RegistryAuth | undefined)[] = [...authsFor(image, auth)];
    if (candidates.length === 0) candidates.push(undefined);
    let refused: unknown;
    for (const candidate of candidates) {
      try {
        await this.#pull(image, candidate, options);
        const found = await this.imagePresent(image, options);
        if (found !== undefined) return found;
        refused = new ProviderError('ImageNotFound', `the engine pulled "${image}" but does not have it`);
      } catch (error) {
        // Only a registry's refusal makes the next credentials worth a try.
        if (!(error instanceof ProviderError) || error.code !== 'ImagePullDenied') throw error;
        refused = error;
      }
    }
    throw refused;
  }

  async listImages(options: CallOptions) {
    const images = await this.#engine.calls.call('list images', options, (abortSignal) =>
      this.#engine.docker.listImages({ abortSignal }),
    );
    return images.map((image) => ({
      id: image.Id,
      // null, or "<none>", where an image has no name.
      names: [...(image.RepoTags ?? []), ...(image.RepoDigests ?? [])].filter((name) => !name.includes('<none>')),
      sizeBytes: image.Size,
    }));
  }

  /** All names of the image first: the engine does not remove an image by id while it has several. */
  async removeImage(id: string, options: CallOptions): Promise<void> {
    const found = await this.#inspect(id, options);
    if (found === undefined) throw new ProviderError('NotFound', `no image "${id}"`);
    const names = (found.RepoTags ?? []).filter((name) => !name.includes('<none>'));
    for (const name of names.length > 1 ? names : [found.Id]) {
      try {
        await this.#engine.calls.call('remove an image', { ...options, timeoutMs: SLOW_CALL_MS }, () =>
          this.#engine.docker.getImage(name).remove(),
        );
      } catch (error) {
        if (statusBehind(error) === 404) continue;
        throw statusBehind(error) === 409 ? recoded(error, 'ImageInUse') : error;
      }
    }
  }

  async #pull(image: string, auth: RegistryAuth | undefined, options: CallOptions): Promise<void> {
    const { repository, tag } = parseImageReference(image);
    let failure: string | undefined;
    let stream: Readable | undefined;
    try {
      stream = await this.#engine.calls.open(
        'pull an image',
        { ...options, timeoutMs: SLOW_CALL_MS },
        async (abortSignal) => {
          const query = { fromImage: repository, tag, abortSignal };
          const { docker } = this.#engine;
          const progress = auth === undefined ? docker.createImage(query) : docker.createImage(authConfig(auth), query);
          return asReadable(await progress);
        },
      );
      const progress = unlessSilent(stream, {
        clock: this.#engine.context.clock,
        silenceMs: PULL_SILENCE_MS,
        error: () => pullError(image, `no progress for ${PULL_SILENCE_MS / 60_000} minutes`, undefined),
      });
      for await (const line of lines(progress, MAX_PROGRESS_BYTES)) failure = pullFailure(line) ?? failure;
    } catch (error) {
      throw stream === undefined ? pullRefusal(image, error) : streamFailure(error, options.signal);
    } finally {
      stream?.destroy();
    }
    if (failure !== undefined) throw pullError(image, failure, undefined);
  }

  async #inspect(image: string, options: CallOptions): Promise<Docker.ImageInspectInfo | undefined> {
    try {
      return await this.#engine.calls.call('inspect an image', options, () =>
        this.#engine.docker.getImage(image).inspect(),
      );
    } catch (error) {
      if (statusBehind(error) === 404) return undefined;
      throw error;
    }
  }
}

function pulled(image: string, found: Docker.ImageInspectInfo): PulledImage {
  return {
    imageId: imageIdOf(image, found.Id, found.RepoDigests ?? []),
    sizeBytes: found.Size,
    user: found.Config?.User ?? '',
  };
}

function authConfig(auth: RegistryAuth): object {
  return {
    serveraddress: auth.registry,
    ...(auth.username === undefined ? {} : { username: auth.username }),
    ...(auth.password === undefined ? {} : { password: auth.password }),
    ...(auth.identityToken === undefined ? {} : { identitytoken: auth.identityToken }),
  };
}
