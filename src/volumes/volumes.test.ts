import { beforeEach, describe, expect, it } from 'vitest';
import type { FileEntry, VolumeSpec } from '../../providers/contract/index.ts';
import { type ConfigMap, type PersistentVolume, type PersistentVolumeClaim, type Pod, podUid } from '../model/pod.ts';
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
  let secrets: Map<string, Record<string, string>>;
  let bundles: Map<string, string>;
  let claims: Map<string, PersistentVolumeClaim>;
  let persistent: Map<string, PersistentVolume>;
  let failure: Error | undefined;
  let asked: TokenRequestInput[];
  let held: string[];
  let warnings: number;
  let volumes: Volumes;

  beforeEach(() => {
    configMaps = new Map([['ns/kube-root-ca.crt', { data: { 'ca.crt': 'CA' } }]]);
    secrets = new Map();
    bundles = new Map();
    claims = new Map();
    persistent = new Map();
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
      secret: async (uid, namespace, name) => {
        held.push(`${uid} secret ${namespace}/${name}`);
        const content = secrets.get(`${namespace}/${name}`);
        return content && { metadata: { name, namespace, uid: 's' }, data: content };
      },
      trustBundles: () => ({ byName: async (name) => bundles.get(name), bySigner: async () => [...bundles.values()] }),
      claims: () => ({
        claim: async (_, name) => must(claims.get(name), `persistentvolumeclaims "${name}" not found`),
        volume: async (name) => must(persistent.get(name), `persistentvolumes "${name}" not found`),
      }),
      allocatable: () => ({ cpuMilli: 4000, memoryBytes: 2 ** 30 }),
      seenMs: () => undefined,
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
    ['a missing secret', [{ secret: { name: 's' } }], 'secret "s" not found'],
    [
      'a source of another kind',
      [{ podCertificate: { keyType: 'ED25519', signerName: 'x/y' } }],
      'projected source is not supported yet: podCertificate',
    ],
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
    const pod = podWith([{ name: 'v', nfs: { server: 's', path: '/' } }]);
    await expect(resolve(pod)).rejects.toThrow('volume is not supported yet: nfs');
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

  // oracle 083-configmap-volume-modes: text and binary keys, chosen keys with modes of their own, secrets off disk.
  it('are files of a ConfigMap on disk and of a Secret in memory', async () => {
    configMaps.set('ns/cm', { data: { a: 'text\n', b: 'other' }, binaryData: { bin: 'AAEC/w==' } });
    secrets.set('ns/s', { user: Buffer.from('me').toString('base64') });
    const items = [
      { key: 'a', path: 'sub/dir/a.txt', mode: 0o777 },
      { key: 'b', path: 'b' },
    ];
    const [all, some, secret] = await resolve(
      podWith([
        { name: 'cm', configMap: { name: 'cm', defaultMode: 0o400 } },
        { name: 'items', configMap: { name: 'cm', defaultMode: 0o440, items } },
        { name: 'sec', secret: { secretName: 's', defaultMode: 0o600 } },
      ]),
    );
    expect(all).toMatchObject({ medium: 'disk', files: [{ path: 'a', mode: 0o400 }, { path: 'b' }, { path: 'bin' }] });
    expect(some).toMatchObject({
      files: [
        { path: 'b', mode: 0o440 },
        { path: 'sub/dir/a.txt', mode: 0o777 },
      ],
    });
    expect(secret).toMatchObject({ medium: 'memory', files: [{ path: 'user', mode: 0o600, data: Buffer.from('me') }] });
    expect(all?.kind === 'files' && [...(all.files[2]?.data ?? [])]).toEqual([0, 1, 2, 255]);
  });

  it.each<[string, Omit<Volume, 'name'>, string]>([
    ['ConfigMap', { configMap: { name: 'x' } }, 'configmap "x" not found'],
    ['Secret', { secret: { secretName: 'x' } }, 'secret "x" not found'],
    ['key', { secret: { secretName: 's', items: [{ key: 'k', path: 'k' }] } }, 'references non-existent secret key: k'],
  ])('wait for a missing %s unless it is optional', async (_, source, message) => {
    secrets.set('ns/s', {});
    await expect(resolve(podWith([{ name: 'v', ...source }]))).rejects.toThrow(message);
    const [kind, content] = Object.entries(source)[0] ?? ['', {}];
    const optional = podWith([{ name: 'v', [kind]: { ...content, optional: true } }]);
    expect(await resolve(optional)).toMatchObject([{ kind: 'files', files: [] }]);
  });

  // oracle 085-downward-volume
  it('write resources in units of the divisor, for lack of a limit what the node has', async () => {
    const resources = { limits: { cpu: '500m' } };
    const field = (path: string, resource: string, divisor = '0') => ({
      path,
      resourceFieldRef: { containerName: 'c', resource, divisor },
    });
    const items = [
      field('cpu', 'limits.cpu', '1m'),
      field('mem', 'limits.memory', '1Mi'),
      field('req', 'requests.cpu'),
    ];
    const containers = [makeContainer('c', { resources, volumeMounts: [{ name: 'v', mountPath: '/v' }] })];
    const [volume] = await resolve(
      podWith([{ name: 'v', downwardAPI: { items, defaultMode: 0o440 } }], [], { containers }),
    );
    if (volume?.kind !== 'files') throw new Error('no files');
    expect(volume.files.map(({ path, data }) => [path, text({ path, mode: 0, data })])).toEqual([
      ['cpu', '500'],
      ['mem', '1024'],
      ['req', '0'],
    ]);
    expect(volume).toMatchObject({ medium: 'memory' });
  });

  it('belong to the group for volumes, whoever fills them', async () => {
    configMaps.set('ns/cm', {});
    const list = [
      { name: 'cm', configMap: { name: 'cm' } },
      { name: 'dir', emptyDir: {} },
      { name: 'mem', emptyDir: { medium: 'Memory' } },
    ];
    const volumes = await resolve(podWith(list, undefined, { securityContext: { fsGroup: 42 } }));
    expect(volumes).toMatchObject([{ ownerGid: 42 }, { ownerGid: 42 }, { ownerGid: 42 }]);
  });

  it('tell of every volume that cannot be had', async () => {
    const pod = podWith([
      { name: 'a', configMap: { name: 'x' } },
      { name: 'b', secret: { secretName: 'y' } },
    ]);
    const failed = await resolve(pod).catch((error: unknown) => error);
    if (!(failed instanceof VolumeError)) throw new Error('no VolumeError');
    expect([failed, ...failed.others].map(({ told }) => told)).toEqual([
      'MountVolume.SetUp failed for volume "a" : configmap "x" not found',
      'MountVolume.SetUp failed for volume "b" : secret "y" not found',
    ]);
  });

  it('are paths of the host where the pod names one', async () => {
    const list = [
      { name: 'a', hostPath: { path: '/a', type: 'Directory' } },
      { name: 'b', hostPath: { path: '/b' } },
    ];
    expect(await resolve(podWith(list))).toEqual([
      { kind: 'hostPath', name: 'a', path: '/a', type: 'Directory' },
      { kind: 'hostPath', name: 'b', path: '/b', type: '' },
    ]);
  });

  it('follow a claim to the directory of its volume, once', async () => {
    claims.set('data', claim());
    persistent.set('pv', {
      metadata: { name: 'pv', uid: 'pv-1' },
      spec: { local: { path: '/disk' }, claimRef: { uid: 'claim-1' } },
    });
    const pod = podWith([{ name: 'v', persistentVolumeClaim: { claimName: 'data', readOnly: true } }]);
    const expected = [{ kind: 'hostPath', name: 'v', path: '/disk', type: 'Directory', readOnly: true }];
    expect(await resolve(pod)).toEqual(expected);
    claims.clear();
    expect(await resolve(pod), 'a bound claim stays bound').toEqual(expected);
  });

  it.each<[string, Partial<PersistentVolumeClaim>, Partial<PersistentVolume['spec'] & object> | undefined, string]>([
    ['is not bound', { status: { phase: 'Pending' } }, {}, 'PVC is not bound'],
    ['has no volume yet', { spec: {} }, {}, 'PVC has empty pvc.Spec.VolumeName'],
    [
      'belongs to another claim',
      {},
      { claimRef: { uid: 'other' } },
      'found PV object pv but its pv.Spec.ClaimRef.UID other does not point to claim.UID claim-1',
    ],
    ['is gone', {}, undefined, 'failed to fetch PV pv from API server: persistentvolumes "pv" not found'],
    [
      'is of another kind',
      {},
      { claimRef: { uid: 'claim-1' }, nfs: { server: 's', path: '/' } },
      'PersistentVolume pv is neither local nor hostPath: this node mounts no other kinds',
    ],
  ])('wait for a claim that %s', async (_, overrides, spec, message) => {
    claims.set('data', { ...claim(), ...overrides });
    if (spec !== undefined) persistent.set('pv', { metadata: { name: 'pv', uid: 'pv-1' }, spec });
    const pod = podWith([{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]);
    const failed = await resolve(pod).catch((error: unknown) => error);
    expect(failed).toMatchObject({
      told: `Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], failed to process volumes=[v]: error processing PVC ns/data: ${message}`,
    });
  });

  it('bring certificates of trust bundles, each once, and look again after a while', async () => {
    const pem = (body: string): string => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`;
    bundles.set('one', pem('QQ==') + pem('Qg=='));
    bundles.set('two', pem('QQ=='));
    const files = await filesOf({
      sources: [
        { clusterTrustBundle: { name: 'one', path: 'named' } },
        { clusterTrustBundle: { signerName: 'x/y', labelSelector: {}, path: 'signed' } },
        { clusterTrustBundle: { signerName: 'x/y', optional: true, path: 'none' } },
      ],
    });
    expect(text(files['named'])).toBe(pem('QQ==') + pem('Qg=='));
    expect(text(files['signed'])).toBe(pem('QQ==') + pem('Qg=='));
    expect(text(files['none'])).toBe('');
    expect(volumes.refreshAt(POD_UID)).toBe(clock.now() + 300_000);
  });
});

function claim(): PersistentVolumeClaim {
  return { metadata: { name: 'data', uid: 'claim-1' }, spec: { volumeName: 'pv' }, status: { phase: 'Bound' } };
}

function must<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new Error(message);
  return value;
}
