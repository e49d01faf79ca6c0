import { type ImageFacet, ProviderError, type PulledImage, type RegistryAuth } from '../../providers/contract/index.ts';
import { ImagePuller, type ImagePullerOptions } from '../images/puller.ts';
import type { Pod, Secret } from '../model/pod.ts';
import type { PodEvent, PullResult } from '../pod/ports.ts';
import { makeContainer, makePod } from './builders.ts';
import { FakeClock, settle } from './fake-clock.ts';
import { recordedLog } from './recorded-log.ts';

export const FIELD = 'spec.containers{c}';
export const IMAGE: PulledImage = { imageId: 'sha256:1', sizeBytes: 123 };

interface Call {
  readonly image: string;
  readonly auth: readonly RegistryAuth[];
  readonly signal: AbortSignal;
  readonly finish: PromiseWithResolvers<PulledImage>;
}

/** A backend whose pulls end when the test says so. */
class Backend implements Pick<ImageFacet, 'imagePresent' | 'pullImage'> {
  readonly calls: Call[] = [];
  readonly present = new Map<string, PulledImage>();
  inspectError: Error | undefined;

  imagePresent(image: string): Promise<PulledImage | undefined> {
    return this.inspectError === undefined
      ? Promise.resolve(this.present.get(image))
      : Promise.reject(this.inspectError);
  }

  pullImage(image: string, auth: readonly RegistryAuth[], { signal }: { signal: AbortSignal }): Promise<PulledImage> {
    const finish = Promise.withResolvers<PulledImage>();
    signal.addEventListener('abort', () => finish.reject(signal.reason));
    this.calls.push({ image, auth, signal, finish });
    return finish.promise;
  }
}

/** An image puller with everything around it faked. */
export function setupPuller(overrides: Partial<Pick<ImagePullerOptions, 'secret' | 'limits'>> = {}) {
  const clock = new FakeClock();
  const backend = new Backend();
  const events: PodEvent[] = [];
  const lines: string[] = [];
  const puller = new ImagePuller({
    images: {
      ...facet(backend),
      listImages: () => Promise.resolve([]),
      removeImage: () => Promise.resolve(),
    },
    secret: () => Promise.resolve(undefined),
    events: { pod: (_pod, event) => events.push(event) },
    clock,
    log: recordedLog(lines),
    limits: { maxParallelPulls: 1, pullQps: 5, pullBurst: 10 },
    ...overrides,
  });
  const ensure = (
    image: string,
    options: { policy?: string; pod?: Pod; signal?: AbortSignal } = {},
  ): Promise<PullResult> =>
    puller.ensure(
      options.pod ?? makePod(),
      makeContainer('c', { image, imagePullPolicy: options.policy ?? 'IfNotPresent' }),
      FIELD,
      { signal: options.signal ?? new AbortController().signal },
    );
  /** Starts a pull and lets it fail. */
  const fail = async (image: string, error: Error, pod?: Pod): Promise<PullResult> => {
    const result = ensure(image, { policy: 'Always', ...(pod && { pod }) });
    await settle();
    backend.calls.at(-1)?.finish.reject(error);
    return result;
  };
  const said = (): string[] => events.splice(0).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  const logged = (): string[] => lines.splice(0);
  return { clock, backend, events, puller, ensure, fail, said, logged };
}

function facet(backend: Backend): Pick<ImageFacet, 'imagePresent' | 'pullImage'> {
  return {
    imagePresent: (image) => backend.imagePresent(image),
    pullImage: (image, auth, options) => backend.pullImage(image, auth, options),
  };
}

export function podNamed(uid: string, spec: Partial<Pod['spec']> = {}): Pod {
  return makePod({ metadata: { uid, name: uid }, spec });
}

export function pullSecret(name: string, username: string): Secret {
  const content = JSON.stringify({ auths: { 'x.io': { username, password: 'pw' } } });
  return {
    metadata: { name, namespace: 'ns', uid: name },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(content).toString('base64') },
  };
}

export const refused = new ProviderError('Internal', 'connection refused');
