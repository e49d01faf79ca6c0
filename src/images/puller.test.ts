import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../providers/contract/index.ts';
import { makeContainer, makePod, POD_UID } from '../testing/builders.ts';
import { settle } from '../testing/fake-clock.ts';
import { FIELD, IMAGE, podNamed, refused, setupPuller } from '../testing/puller-setup.ts';

describe('pull policy', () => {
  it('IfNotPresent takes an image that is there, by the name as written', async () => {
    const { backend, ensure, events } = setupPuller();
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
    const { backend, clock, ensure, said } = setupPuller();
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
    const { backend, ensure } = setupPuller();
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
      const { backend, puller } = setupPuller();
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
    const { backend, clock, ensure, said } = setupPuller();
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
    const { ensure, said } = setupPuller();
    const message =
      'Failed to apply default image tag "Not/A/Valid/Image:Tag": couldn\'t parse image name "Not/A/Valid/Image:Tag": invalid reference format: repository name (A/Valid/Image) must be lowercase';
    expect(await ensure('Not/A/Valid/Image:Tag')).toMatchObject({ reason: 'InvalidImageName', message });
    expect(said()).toEqual([`Warning InspectFailed ${message}`, 'Warning Failed Error: InvalidImageName']);
  });

  it('reports an image store that answers with an error', async () => {
    const { backend, ensure, said, logged } = setupPuller();
    backend.inspectError = new ProviderError('Internal', 'disk broken');
    const message = 'Failed to inspect image "a:1": disk broken';
    expect(await ensure('a:1')).toMatchObject({ reason: 'ImageInspectError', message });
    expect(said()).toEqual([`Warning InspectFailed ${message}`, 'Warning Failed Error: ImageInspectError']);
    expect(logged()).toEqual(['warn image not inspected']);
  });

  it.each(['Unavailable', 'Unauthorized'] as const)('blames no image when the backend is %s', async (code) => {
    const { backend, ensure, fail, said } = setupPuller();
    const away = new ProviderError(code, 'no engine');
    backend.inspectError = away;
    await expect(ensure('a:1')).rejects.toBe(away);
    await expect(fail('a:1', away)).rejects.toBe(away);
    expect(said()).toEqual(['Normal Pulling Pulling image "a:1"']);
  });
});

describe('a pull that fails', () => {
  // Oracle 013.
  it('reads ErrImagePull, then ImagePullBackOff until it is tried again', async () => {
    const { clock, backend, ensure, fail, said } = setupPuller();
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
    const { clock, ensure, fail } = setupPuller();
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

  it('waits no longer because the clock was set back', async () => {
    const { clock, ensure, fail } = setupPuller();
    await fail('a:1', refused);
    clock.set(clock.now() - 3_600_000);
    expect(await ensure('a:1')).toMatchObject({ reason: 'ImagePullBackOff', retryAtMs: clock.now() + 10_000 });
    await clock.advance(9_000);
    expect(await ensure('a:1')).toMatchObject({ retryAtMs: clock.now() + 1_000 });
  });

  it('does not hold back other images or other pods, and is forgotten with its pod', async () => {
    const { puller, ensure, fail } = setupPuller();
    await fail('a:1', refused);
    expect(await ensure('a:1')).toMatchObject({ reason: 'ImagePullBackOff' });
    expect(await fail('b:1', refused)).toMatchObject({ reason: 'ErrImagePull' });
    expect(await fail('a:1', refused, podNamed('other'))).toMatchObject({ reason: 'ErrImagePull' });
    puller.forget(POD_UID);
    expect(await fail('a:1', refused)).toMatchObject({ reason: 'ErrImagePull' });
    expect(await ensure('a:1', { pod: podNamed('other') })).toMatchObject({ reason: 'ImagePullBackOff' });
  });

  it('takes a rate limit for an answer of the registry', async () => {
    const { fail } = setupPuller();
    const limited = new ProviderError('Throttled', 'toomanyrequests', { retryAfterMs: 1_000 });
    expect(await fail('x.io/a', limited)).toMatchObject({ reason: 'ErrImagePull', message: 'toomanyrequests' });
  });

  it('keeps the reasons that a backend tells apart', async () => {
    const { ensure, fail } = setupPuller();
    const error = new ProviderError('Internal', 'x.io is down', { reason: 'RegistryUnavailable' });
    const message = 'image pull failed for x.io/a:latest because the registry is unavailable: x.io is down';
    expect(await fail('x.io/a', error)).toMatchObject({ reason: 'RegistryUnavailable', message });
    expect(await ensure('x.io/a')).toMatchObject({
      message: `Back-off pulling image "x.io/a": RegistryUnavailable: ${message}`,
    });
  });

  it('counts pulls over the registry QPS as failed', async () => {
    const { backend, ensure, said } = setupPuller({ limits: { pullQps: 1, pullBurst: 1 } });
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
