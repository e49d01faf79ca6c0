import { beforeEach, describe, expect, it } from 'vitest';
import type { FileEntry, VolumeSpec } from '../../providers/contract/index.ts';
import { type ConfigMap, type Pod, podUid } from '../model/pod.ts';
import { VolumeError } from '../pod/ports.ts';
import { makeContainer, makePod, POD_UID } from '../testing/builders.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { TokenRequestInput } from './token.ts';
import { Volumes } from './volumes.ts';

type Volume = NonNullable<Pod['spec']['volumes']>[number];
type Projected = NonNullable<Volume['projected']>;
const { signal } = new AbortController();

/** As the ServiceAccount admission plugin adds it to every pod. */
const INJECTED: Projected = {
  defaultMode: 420,
  sources: [
    { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
    { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
    {
      downwardAPI: { items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }] },
    },
  ],
};

describe('volumes of a pod', () => {
  const clock = new FakeClock();
  let configMaps: Map<string, Pick<ConfigMap, 'data' | 'binaryData'>>;
  let failure: Error | undefined;
  let asked: TokenRequestInput[];
  let held: string[];
  let warnings: number;
  let volumes: Volumes;

  beforeEach(() => {
    configMaps = new Map([['ns/kube-root-ca.crt', { data: { 'ca.crt': 'CA' } }]]);
    failure = undefined;
    asked = [];
    held = [];
    warnings = 0;
    volumes = new Volumes({
      clock,
      random: () => 0,
      log: { warn: () => void warnings++ },
      requestToken: async (input) => {
        if (failure !== undefined) throw failure;
        asked.push(input);
        return { token: `token-${asked.length}`, expiresAtMs: clock.now() + input.expirationSeconds * 1000 };
      },
      configMap: async (uid, namespace, name) => {
        if (failure !== undefined) throw failure;
        held.push(`${uid} ${namespace}/${name}`);
        const content = configMaps.get(`${namespace}/${name}`);
        return content && { metadata: { name, namespace, uid: 'cm' }, ...content };
      },
      releasePod: (uid) => {
        held = held.filter((entry) => !entry.startsWith(`${uid} `));
      },
      allocatableMemoryBytes: () => 2 ** 30,
    });
  });

  function podWith(list: Volume[], mounted = list.map(({ name }) => name), more: Partial<Pod['spec']> = {}): Pod {
    const volumeMounts = mounted.map((name) => ({ name, mountPath: `/${name}` }));
    return makePod({
      metadata: { labels: { b: 'two "2"', a: 'one' }, annotations: { note: 'x\ny' } },
      spec: { serviceAccountName: 'robot', volumes: list, containers: [makeContainer('c', { volumeMounts })], ...more },
    });
  }

  const resolve = (pod: Pod): Promise<readonly VolumeSpec[]> => volumes.resolve(pod, { signal });

  async function filesOf(projected: Projected, more: Partial<Pod['spec']> = {}): Promise<Record<string, FileEntry>> {
    const [volume] = await resolve(podWith([{ name: 'v', projected }], ['v'], more));
    if (volume?.kind !== 'files') throw new Error('no files');
    expect(volume).toMatchObject({ name: 'v', medium: 'memory', revision: expect.stringMatching(/^[0-9a-f]{64}$/) });
    return Object.fromEntries(volume.files.map((file) => [file.path, file]));
  }

  const text = (file: FileEntry | undefined): string => Buffer.from(file?.data ?? []).toString();

  it('fill the volume that the API server adds to every pod', async () => {
    const files = await filesOf(INJECTED);
    expect(Object.keys(files)).toEqual(['ca.crt', 'namespace', 'token']);
    expect(text(files['token'])).toBe('token-1');
    expect(text(files['ca.crt'])).toBe('CA');
    expect(text(files['namespace'])).toBe('ns');
    expect(Object.values(files).map(({ mode }) => mode)).toEqual([0o644, 0o644, 0o644]);
    expect(asked).toMatchObject([{ serviceAccount: 'robot', audiences: [], expirationSeconds: 3607 }]);
    expect(held).toEqual([`${POD_UID} ns/kube-root-ca.crt`]);
  });

  it('leave out what no container mounts', async () => {
    const pod = podWith(
      [
        { name: 'used', emptyDir: {} },
        { name: 'unused', projected: INJECTED },
      ],
      ['used'],
    );
    expect((await resolve(pod)).map(({ name }) => name)).toEqual(['used']);
    expect(asked).toEqual([]);
  });

  it('keep the order of the spec', async () => {
    const pod = podWith([
      { name: 'token', projected: INJECTED },
      { name: 'scratch', emptyDir: { medium: 'Memory' } },
      { name: 'disk', emptyDir: {} },
    ]);
    expect((await resolve(pod)).map(({ name }) => name)).toEqual(['token', 'scratch', 'disk']);
  });

  it('keep token and revision until a renewal is due', async () => {
    const pod = podWith([{ name: 'v', projected: INJECTED }]);
    const first = await resolve(pod);
    expect(volumes.refreshAt(podUid(pod))).toBe(clock.now() + 0.8 * 3_607_000);
    expect(await resolve(pod)).toEqual(first);
    expect(asked).toHaveLength(1);
    await clock.advance(0.8 * 3_607_000);
    const renewed = await resolve(pod);
    expect(asked).toHaveLength(2);
    expect(renewed[0]).not.toMatchObject({ revision: first[0]?.kind === 'files' && first[0].revision });
    failure = new Error('down');
    await clock.advance(0.8 * 3_607_000);
    configMaps.clear();
    await expect(resolve(pod), 'only the token is kept').rejects.toThrow('down');
    expect(warnings).toBe(1);
  });

  it('are forgotten with the pod', async () => {
    const pod = podWith([{ name: 'v', projected: INJECTED }]);
    await resolve(pod);
    volumes.forget(podUid(pod));
    expect(volumes.refreshAt(podUid(pod))).toBeUndefined();
    expect(held).toEqual([]);
  });

  // reference 9.5: the common user owns the token and alone may read it.
  it.each<[string, Partial<Pod['spec']>, number, number | undefined]>([
    ['one user', { securityContext: { runAsUser: 1000 } }, 0o600, 1000],
    ['a group for volumes', { securityContext: { fsGroup: 5 } }, 0o600, undefined],
    ['nobody in particular', {}, 0o640, undefined],
  ])('give the token to %s', async (_, more, mode, uid) => {
    const projected = { defaultMode: 0o640, sources: INJECTED.sources ?? [] };
    const files = await filesOf(projected, more);
    expect(files['token']?.mode).toBe(mode);
    expect(files['token']?.uid).toBe(uid);
    expect(files['ca.crt']).toMatchObject({ mode: 0o640 });
    expect(files['ca.crt']?.uid).toBeUndefined();
  });

  it('ask for the audience that the source names', async () => {
    await filesOf({ sources: [{ serviceAccountToken: { path: 't', audience: 'vault', expirationSeconds: 600 } }] });
    expect(asked).toMatchObject([{ audiences: ['vault'], expirationSeconds: 600 }]);
  });

  it('merge sources in order, the later one wins', async () => {
    configMaps.set('ns/one', { data: { a: '1', b: '1' } });
    configMaps.set('ns/two', { data: { b: '2' }, binaryData: { c: Buffer.from([0, 255]).toString('base64') } });
    const files = await filesOf({
      defaultMode: 0o400,
      sources: [
        { configMap: { name: 'one' } },
        { configMap: { name: 'two' } },
        { configMap: { name: 'one', items: [{ key: 'a', path: 'dir/x', mode: 0o755 }] } },
      ],
    });
    expect(Object.keys(files)).toEqual(['a', 'b', 'c', 'dir/x']);
    expect([text(files['a']), text(files['b'])]).toEqual(['1', '2']);
    expect([...(files['c']?.data ?? [])]).toEqual([0, 255]);
    expect([files['a']?.mode, files['dir/x']?.mode]).toEqual([0o400, 0o755]);
  });

  // reference 9.4
  it('write metadata of the pod', async () => {
    const item = (path: string, fieldPath: string) => ({ path, fieldRef: { apiVersion: 'v1', fieldPath } });
    const items = [
      item('labels', 'metadata.labels'),
      item('annotations', 'metadata.annotations'),
      item('label', "metadata.labels['a']"),
      item('absent', "metadata.labels['zz']"),
      item('uid', 'metadata.uid'),
    ];
    const files = await filesOf({ sources: [{ downwardAPI: { items } }] });
    expect(text(files['labels'])).toBe('a="one"\nb="two \\"2\\""');
    expect(text(files['annotations'])).toBe('note="x\\ny"');
    expect(text(files['label'])).toBe('one');
    expect(text(files['absent'])).toBe('');
    expect(text(files['uid'])).toBe(POD_UID);
  });

  it('are empty where an optional object or key is not there', async () => {
    configMaps.set('ns/some', { data: { a: '1' } });
    const items = [
      { key: 'a', path: 'a' },
      { key: 'b', path: 'b' },
    ];
    const files = await filesOf({
      sources: [
        { configMap: { name: 'gone', optional: true } },
        { configMap: { name: 'some', items, optional: true } },
      ],
    });
    expect(Object.keys(files)).toEqual(['a']);
  });

  it.each<[string, Projected['sources'], string]>([
    ['a missing object', [{ configMap: { name: 'x' } }], 'configmap "x" not found'],
    [
      'a missing key',
      [{ configMap: { name: 'kube-root-ca.crt', items: [{ key: 'k', path: 'k' }] } }],
      'configmap references non-existent config key: k',
    ],
    [
      'several failures, each text once',
      [{ configMap: { name: 'x' } }, { configMap: { name: 'y' } }, { configMap: { name: 'x' } }],
      '[configmap "x" not found, configmap "y" not found]',
    ],
    ['a source of another kind', [{ secret: { name: 's' } }], 'projected source is not supported yet: secret'],
  ])('name the volume and say what is wrong: %s', async (_, sources, message) => {
    const pod = podWith([
      { name: 'fine', emptyDir: {} },
      { name: 'v', projected: { sources: sources ?? [] } },
    ]);
    const failed = await resolve(pod).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(VolumeError);
    expect(failed).toMatchObject({ volume: 'v', message });
  });

  it('refuse kinds that admission should have refused', async () => {
    const pod = podWith([{ name: 'v', hostPath: { path: '/' } }]);
    await expect(resolve(pod)).rejects.toThrow('volume is not supported yet: hostPath');
  });

  it('fail with the reason of the signal when aborted', async () => {
    const controller = new AbortController();
    controller.abort();
    failure = controller.signal.reason;
    const pod = podWith([{ name: 'v', projected: INJECTED }]);
    await expect(volumes.resolve(pod, { signal: controller.signal })).rejects.toBe(controller.signal.reason);
  });

  it('of 300 pods are resolved at once, each with a token of its own', async () => {
    const pods = Array.from({ length: 300 }, (_, i) => {
      const pod = podWith([{ name: 'v', projected: INJECTED }]);
      return { ...pod, metadata: { ...pod.metadata, uid: `pod-${i}` } };
    });
    const resolved = await Promise.all(pods.map(resolve));
    expect(new Set(resolved.map(([volume]) => volume?.kind === 'files' && volume.revision)).size).toBe(300);
    expect(asked).toHaveLength(300);
  });
});
