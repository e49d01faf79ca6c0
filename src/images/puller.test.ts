import { describe, expect, it } from 'vitest';
import {
  type ImageFacet,
  type PodUid,
  ProviderError,
  type PulledImage,
  type RegistryAuth,
} from '../../providers/contract/index.ts';
import type { Pod, Secret } from '../model/pod.ts';
import type { PodEvent, PullResult } from '../pod/ports.ts';
import { makeContainer, makePod, POD_UID } from '../testing/builders.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { ImagePuller, type ImagePullerOptions } from './puller.ts';

const FIELD = 'spec.containers{c}';
const IMAGE: PulledImage = { imageId: 'sha256:1', sizeBytes: 123 };

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

function setup(overrides: Partial<Pick<ImagePullerOptions, 'secret' | 'limits'>> = {}) {
  const clock = new FakeClock();
  const backend = new Backend();
  const events: PodEvent[] = [];
  const puller = new ImagePuller({
    images: {
      ...facet(backend),
      listImages: () => Promise.resolve([]),
      removeImage: () => Promise.resolve(),
    },
    secret: () => Promise.resolve(undefined),
    events: { pod: (_pod, event) => events.push(event) },
    clock,
    log: { warn: () => {} },
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
  return { clock, backend, events, puller, ensure, fail, said };
}

function facet(backend: Backend): Pick<ImageFacet, 'imagePresent' | 'pullImage'> {
  return {
    imagePresent: (image) => backend.imagePresent(image),
    pullImage: (image, auth, options) => backend.pullImage(image, auth, options),
  };
}

function podNamed(uid: string, spec: Partial<Pod['spec']> = {}): Pod {
  return makePod({ metadata: { uid, name: uid }, spec });
}

function pullSecret(name: string, username: string): Secret {
  const content = JSON.stringify({ auths: { 'x.io': { username, password: 'pw' } } });
  return {
    metadata: { name, namespace: 'ns', uid: name },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(content).toString('base64') },
  };
}

const refused = new ProviderError('Internal', 'connection refused');

describe('pull policy', () => {
  it('IfNotPresent takes an image that is there, by the name as written', async () => {
    const { backend, ensure, events } = setup();
    backend.present.set('busybox:latest', IMAGE);
    expect(await ensure('busybox')).toEqual({ type: 'present', image: IMAGE });
    expect(backend.calls).toEqual([]);
    expect(events).toEqual([
      {
        type: 'Normal',
        reason: 'Pulled',
        message: 'Container image "busybox" already present on machine and can be accessed by the pod',
        fieldPath: FIELD,
      },
    ]);
  });

  it('IfNotPresent pulls what is not there, and says how long it took', async () => {
    const { backend, clock, ensure, said } = setup();
    const result = ensure('x.io/a:1');
    await clock.advance(1_234);
    expect(said()).toEqual(['Normal Pulling Pulling image "x.io/a:1"']);
    backend.calls[0]?.finish.resolve(IMAGE);
    expect(await result).toEqual({ type: 'present', image: IMAGE });
    expect(said()).toEqual([
      'Normal Pulled Successfully pulled image "x.io/a:1" in 1.234s (1.234s including waiting). Image size: 123 bytes.',
    ]);
  });

  it('Always asks the registry although the image is there', async () => {
    const { backend, ensure } = setup();
    backend.present.set('busybox:1', IMAGE);
    const result = ensure('busybox:1', { policy: 'Always' });
    await settle();
    expect(backend.calls).toHaveLength(1);
    backend.calls[0]?.finish.resolve(IMAGE);
    await result;
  });

  it('an absent policy means Always for :latest and for no tag, else IfNotPresent', async () => {
    for (const [image, pulls] of [
      ['busybox', 1],
      ['busybox:latest', 1],
      ['x.io:5000/busybox', 1],
      ['busybox:1', 0],
      [`busybox@sha256:${'a'.repeat(64)}`, 0],
    ] as const) {
      const { backend, puller } = setup();
      backend.imagePresent = () => Promise.resolve(IMAGE);
      const { imagePullPolicy: _, ...container } = makeContainer('c', { image });
      const result = puller.ensure(makePod(), container, FIELD, { signal: new AbortController().signal });
      await settle();
      expect([image, backend.calls.length]).toEqual([image, pulls]);
      for (const call of backend.calls) call.finish.resolve(IMAGE);
      await result;
    }
  });

  // Oracle 012.
  it('Never refuses an absent image', async () => {
    const { backend, clock, ensure, said } = setup();
    const message = 'Container image "localhost/absent:1" is not present with pull policy of Never';
    expect(await ensure('localhost/absent:1', { policy: 'Never' })).toEqual({
      type: 'failed',
      reason: 'ErrImageNeverPull',
      message,
      retryAtMs: clock.now() + 10_000,
    });
    expect(said()).toEqual([`Warning ErrImageNeverPull ${message}`, 'Warning Failed Error: ErrImageNeverPull']);
    expect(backend.calls).toEqual([]);
  });

  // Oracle 011.
  it('refuses a reference that cannot be parsed', async () => {
    const { ensure, said } = setup();
    const message =
      'Failed to apply default image tag "Not/A/Valid/Image:Tag": couldn\'t parse image name "Not/A/Valid/Image:Tag": invalid reference format: repository name (A/Valid/Image) must be lowercase';
    expect(await ensure('Not/A/Valid/Image:Tag')).toMatchObject({ reason: 'InvalidImageName', message });
    expect(said()).toEqual([`Warning InspectFailed ${message}`, 'Warning Failed Error: InvalidImageName']);
  });

  it('reports an image store that answers with an error', async () => {
    const { backend, ensure, said } = setup();
    backend.inspectError = new ProviderError('Internal', 'disk broken');
    const message = 'Failed to inspect image "a:1": disk broken';
    expect(await ensure('a:1')).toMatchObject({ reason: 'ImageInspectError', message });
    expect(said()).toEqual([`Warning InspectFailed ${message}`, 'Warning Failed Error: ImageInspectError']);
  });

  it('blames no image when the backend cannot be asked', async () => {
    const { backend, ensure, fail, said } = setup();
    const away = new ProviderError('Unavailable', 'no engine');
    backend.inspectError = away;
    await expect(ensure('a:1')).rejects.toBe(away);
    await expect(fail('a:1', away)).rejects.toBe(away);
    expect(said()).toEqual(['Normal Pulling Pulling image "a:1"']);
  });
});

describe('a pull that fails', () => {
  // Oracle 013.
  it('reads ErrImagePull, then ImagePullBackOff until it is tried again', async () => {
    const { clock, backend, ensure, fail, said } = setup();
    expect(await fail('127.0.0.1:1/x:1', refused)).toEqual({
      type: 'failed',
      reason: 'ErrImagePull',
      message: 'connection refused',
      retryAtMs: clock.now() + 5_000,
    });
    expect(said()).toEqual([
      'Normal Pulling Pulling image "127.0.0.1:1/x:1"',
      'Warning Failed Failed to pull image "127.0.0.1:1/x:1": connection refused',
      'Warning Failed Error: ErrImagePull',
    ]);
    await clock.advance(5_000);
    expect(await ensure('127.0.0.1:1/x:1')).toEqual({
      type: 'failed',
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "127.0.0.1:1/x:1": ErrImagePull: connection refused',
      retryAtMs: clock.now() + 5_000,
    });
    expect(said()).toEqual([
      'Normal BackOff Back-off pulling image "127.0.0.1:1/x:1"',
      'Warning Failed Error: ImagePullBackOff',
    ]);
    expect(backend.calls).toHaveLength(1);
  });

  it('is tried again after 10 s, doubled up to 300 s, and from the start after 600 s of silence', async () => {
    const { clock, ensure, fail } = setup();
    const waits: number[] = [];
    for (let i = 0; i < 8; i++) {
      await fail('a:1', refused);
      const backoff = await ensure('a:1');
      const untilMs = backoff.type === 'failed' ? (backoff.retryAtMs ?? 0) : 0;
      waits.push(untilMs - clock.now());
      await clock.advance(untilMs - clock.now());
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1_000));
    await clock.advance(301_000);
    await fail('a:1', refused);
    expect(await ensure('a:1')).toMatchObject({ retryAtMs: clock.now() + 10_000 });
  });

  it('does not hold back other images or other pods, and is forgotten with its pod', async () => {
    const { puller, ensure, fail } = setup();
    await fail('a:1', refused);
    expect(await ensure('a:1')).toMatchObject({ reason: 'ImagePullBackOff' });
    expect(await fail('b:1', refused)).toMatchObject({ reason: 'ErrImagePull' });
    expect(await fail('a:1', refused, podNamed('other'))).toMatchObject({ reason: 'ErrImagePull' });
    puller.forget(POD_UID);
    expect(await fail('a:1', refused)).toMatchObject({ reason: 'ErrImagePull' });
    expect(await ensure('a:1', { pod: podNamed('other') })).toMatchObject({ reason: 'ImagePullBackOff' });
  });

  it('keeps the reasons that a backend tells apart', async () => {
    const { ensure, fail } = setup();
    const error = new ProviderError('Internal', 'x.io is down', { reason: 'RegistryUnavailable' });
    const message = 'image pull failed for x.io/a:latest because the registry is unavailable: x.io is down';
    expect(await fail('x.io/a', error)).toMatchObject({ reason: 'RegistryUnavailable', message });
    expect(await ensure('x.io/a')).toMatchObject({
      message: `Back-off pulling image "x.io/a": RegistryUnavailable: ${message}`,
    });
  });

  it('counts pulls over the registry QPS as failed', async () => {
    const { backend, ensure, said } = setup({ limits: { pullQps: 1, pullBurst: 1 } });
    const first = ensure('a:1');
    await settle();
    said();
    expect(await ensure('b:1', { pod: podNamed('other') })).toMatchObject({
      reason: 'ErrImagePull',
      message: 'pull QPS exceeded',
    });
    expect(said()).toContain('Warning Failed Failed to pull image "b:1": pull QPS exceeded');
    backend.calls[0]?.finish.resolve(IMAGE);
    expect(await first).toMatchObject({ type: 'present' });
  });
});

describe('pulls at the same time', () => {
  it('are one pull for one image, with events for each pod', async () => {
    const { backend, ensure, said } = setup();
    const results = [ensure('a:1', { pod: podNamed('one') }), ensure('a:1', { pod: podNamed('two') })];
    await settle();
    expect(backend.calls).toHaveLength(1);
    backend.calls[0]?.finish.resolve(IMAGE);
    expect(await Promise.all(results)).toEqual([
      { type: 'present', image: IMAGE },
      { type: 'present', image: IMAGE },
    ]);
    expect(said().map((text) => text.split(' ')[1])).toEqual(['Pulling', 'Pulling', 'Pulled', 'Pulled']);
  });

  it('go one after the other by default, and the waiting is told apart', async () => {
    const { backend, clock, ensure, said } = setup();
    const first = ensure('a:1', { pod: podNamed('one') });
    const second = ensure('b:1', { pod: podNamed('two') });
    await clock.advance(2_000);
    expect(backend.calls.map(({ image }) => image)).toEqual(['a:1']);
    backend.calls[0]?.finish.resolve(IMAGE);
    await clock.advance(500);
    expect(backend.calls.map(({ image }) => image)).toEqual(['a:1', 'b:1']);
    backend.calls[1]?.finish.resolve(IMAGE);
    await Promise.all([first, second]);
    expect(said()).toContain(
      'Normal Pulled Successfully pulled image "b:1" in 500ms (2.5s including waiting). Image size: 123 bytes.',
    );
  });

  it('go side by side when the configuration says so', async () => {
    const { backend, ensure } = setup({ limits: { maxParallelPulls: 2, pullQps: 0, pullBurst: 0 } });
    const results = ['a:1', 'b:1', 'c:1'].map((image) => ensure(image, { pod: podNamed(image) }));
    await settle();
    expect(backend.calls).toHaveLength(2);
    for (let i = 0; i < 3; i++) {
      backend.calls[i]?.finish.resolve(IMAGE);
      await settle();
    }
    await Promise.all(results);
  });

  it('go on when one of those who wait gives up, and end with the last one', async () => {
    const { backend, ensure } = setup();
    const [one, two] = [new AbortController(), new AbortController()];
    const first = ensure('a:1', { pod: podNamed('one'), signal: one.signal });
    const second = ensure('a:1', { pod: podNamed('two'), signal: two.signal });
    await settle();
    one.abort();
    await expect(first).rejects.toBe(one.signal.reason);
    expect(backend.calls[0]?.signal.aborted).toBe(false);
    two.abort();
    await expect(second).rejects.toBe(two.signal.reason);
    expect(backend.calls[0]?.signal.aborted).toBe(true);
    const third = ensure('a:1', { pod: podNamed('three') });
    await settle();
    expect(backend.calls).toHaveLength(2);
    backend.calls[1]?.finish.resolve(IMAGE);
    expect(await third).toMatchObject({ type: 'present' });
  });

  it('are apart when the credentials differ', async () => {
    const { backend, ensure } = setup({
      secret: (_uid, _namespace, name) => Promise.resolve(pullSecret(name, name)),
      limits: { pullQps: 0, pullBurst: 0 },
    });
    const withSecret = ensure('x.io/a:1', { pod: podNamed('one', { imagePullSecrets: [{ name: 'ann' }] }) });
    const without = ensure('x.io/a:1', { pod: podNamed('two') });
    await settle();
    expect(backend.calls.map(({ auth }) => auth)).toEqual(
      expect.arrayContaining([[], [{ registry: 'x.io', username: 'ann', password: 'pw' }]]),
    );
    for (const call of backend.calls) call.finish.resolve(IMAGE);
    await Promise.all([withSecret, without]);
  });
});

describe('pull secrets', () => {
  const pod = makePod({
    spec: { imagePullSecrets: [{ name: 'nosuch' }, { name: '' }, { name: 'ann' }, { name: 'nor-this' }] },
  });

  // Oracle 140: the event is about the pod, not about a container, and comes first.
  it('that are missing are named in an event, and the pull goes on with the others', async () => {
    const { backend, ensure, events } = setup({
      secret: (_uid, _namespace, name) =>
        name === 'nor-this'
          ? Promise.reject(new Error('forbidden'))
          : Promise.resolve(name === 'ann' ? pullSecret(name, name) : undefined),
    });
    const result = ensure('x.io/a:1', { pod });
    await settle();
    expect(events[0]).toEqual({
      type: 'Warning',
      reason: 'FailedToRetrieveImagePullSecret',
      message:
        'Unable to retrieve some image pull secrets (nosuch, nor-this); attempting to pull the image may not succeed.',
    });
    expect(backend.calls[0]?.auth).toEqual([{ registry: 'x.io', username: 'ann', password: 'pw' }]);
    backend.calls[0]?.finish.resolve(IMAGE);
    await result;
  });

  it('that the API server does not hand out keep a container waiting for 5 s at most', async () => {
    const { backend, clock, ensure, said } = setup({
      secret: (_uid, _namespace, _name, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    });
    backend.present.set('busybox:1', IMAGE);
    const result = ensure('busybox:1', { pod });
    await clock.advance(5_000);
    expect(await result).toMatchObject({ type: 'present' });
    expect(said()[0]).toContain('(nosuch, ann, nor-this)');
  });

  it('that cannot be read fail the pull, not a start without one', async () => {
    const broken: Secret = { ...pullSecret('broken', ''), data: { '.dockerconfigjson': 'AAAA' } };
    const { backend, ensure } = setup({ secret: () => Promise.resolve(broken) });
    backend.present.set('busybox:1', IMAGE);
    const withSecret = podNamed('one', { imagePullSecrets: [{ name: 'broken' }] });
    expect(await ensure('busybox:1', { pod: withSecret })).toMatchObject({ type: 'present' });
    expect(await ensure('x.io/a:1', { pod: withSecret })).toMatchObject({
      reason: 'ErrImagePull',
      message: 'pull secret "broken": .dockerconfigjson is not a Docker configuration',
    });
    expect(backend.calls).toEqual([]);
  });

  it('are handed to backends that pull by themselves, for every image of the pod', async () => {
    const { puller } = setup({ secret: (_uid, _namespace, name) => Promise.resolve(pullSecret(name, name)) });
    const auth = await puller.auth(
      podNamed('one' as PodUid, {
        imagePullSecrets: [{ name: 'ann' }, { name: 'bob' }],
        initContainers: [makeContainer('i', { image: 'x.io/b' })],
        containers: [makeContainer('c', { image: 'x.io/a' }), makeContainer('d', { image: 'Bad/Image' })],
      }),
      { signal: new AbortController().signal },
    );
    expect(auth.map(({ username }) => username)).toEqual(['ann', 'bob']);
  });
});
