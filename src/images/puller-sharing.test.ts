import { describe, expect, it } from 'vitest';
import type { PodUid } from '../../providers/contract/index.ts';
import type { Secret } from '../model/pod.ts';
import { makeContainer, makePod } from '../testing/builders.ts';
import { settle } from '../testing/fake-clock.ts';
import { IMAGE, podNamed, pullSecret, setupPuller } from '../testing/puller-setup.ts';

describe('pulls at the same time', () => {
  it('are one pull for one image, with events for each pod', async () => {
    const { backend, ensure, said } = setupPuller();
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
    const { backend, clock, ensure, said } = setupPuller();
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
    const { backend, ensure } = setupPuller({ limits: { maxParallelPulls: 2, pullQps: 0, pullBurst: 0 } });
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
    const { backend, ensure } = setupPuller();
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
    const { backend, ensure } = setupPuller({
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
    const { backend, ensure, events } = setupPuller({
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
    const { backend, clock, ensure, said } = setupPuller({
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
    const { backend, ensure } = setupPuller({ secret: () => Promise.resolve(broken) });
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
    const { puller } = setupPuller({ secret: (_uid, _namespace, name) => Promise.resolve(pullSecret(name, name)) });
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
