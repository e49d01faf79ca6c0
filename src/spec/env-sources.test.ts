import { describe, expect, it } from 'vitest';
import type { EnvEntry } from '../../providers/contract/index.ts';
import type { ConfigMap, Container, Pod, Secret } from '../model/pod.ts';
import { makeContainer, makePod, POD_UID } from '../testing/builders.ts';
import { ContainerConfigError } from './config-error.ts';
import { composeEnv } from './env.ts';
import { envReferences } from './env-sources.ts';

const ALLOCATABLE = { cpuMilli: 4000, memoryBytes: 8 * 2 ** 30, ephemeralBytes: 100 * 2 ** 30 };

interface World {
  readonly configMaps?: Readonly<Record<string, ConfigMap['data']>>;
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly files?: Readonly<Record<string, string>>;
  readonly failure?: Error;
  readonly spec?: Partial<Pod['spec']>;
  readonly links?: boolean;
}

function compose(container: Partial<Container>, world: World = {}): readonly EnvEntry[] {
  const { configMaps = {}, secrets = {}, files = {}, failure, spec = {} } = world;
  const meta = (name: string) => ({ name, namespace: 'ns', uid: name });
  const own = makeContainer('c', container);
  return composeEnv({
    pod: makePod({ spec: { enableServiceLinks: true, containers: [own], ...spec } }),
    container: own,
    services: [],
    hostIPs: ['192.168.0.10'],
    podIPs: ['10.0.0.7'],
    allocatable: ALLOCATABLE,
    objects: {
      configMap: (name) => {
        if (failure !== undefined) throw failure;
        const data = configMaps[name];
        return data && { metadata: meta(name), data, binaryData: { binary: 'AAAA' } };
      },
      secret: (name): Secret | undefined => {
        const data = secrets[name];
        const encoded = Object.entries(data ?? {}).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
        return data && { metadata: meta(name), data: Object.fromEntries(encoded) };
      },
      file: (volume, path) => {
        const text = files[`${volume}/${path}`];
        return text === undefined ? undefined : Buffer.from(text);
      },
    },
  });
}

function values(container: Partial<Container>, world: World = {}): Record<string, string> {
  return Object.fromEntries(compose(container, world).map(({ name, value }) => [name, value]));
}

const key = (name: string, object: string, of: string, optional?: boolean) => ({
  name,
  valueFrom: { configMapKeyRef: { name: object, key: of, ...(optional === undefined ? {} : { optional }) } },
});
const secretKey = (name: string, object: string, of: string, optional?: boolean) => ({
  name,
  valueFrom: { secretKeyRef: { name: object, key: of, ...(optional === undefined ? {} : { optional }) } },
});

describe('variables from ConfigMaps and Secrets', () => {
  // Case 018 of the oracle, recorded on the kubelet.
  it('are left out where an optional object or key is not there', () => {
    const env = [
      { name: 'T_SET', value: 'x' },
      key('T_CM', 'none', 'k', true),
      key('T_KEY', 'have', 'zzz', true),
      secretKey('T_SEC', 'none', 'k', true),
      { name: 'T_AFTER', value: '$(T_CM)-$(T_SET)' },
    ];
    const envFrom = [
      { prefix: 'T_FROM_', configMapRef: { name: 'none', optional: true } },
      { prefix: 'T_HAVE_', configMapRef: { name: 'have' } },
      { prefix: 'T_S_', secretRef: { name: 'none', optional: true } },
    ];
    expect(values({ env, envFrom }, { configMaps: { have: { a: '1' } } })).toEqual({
      T_AFTER: '$(T_CM)-x',
      T_HAVE_a: '1',
      T_SET: 'x',
    });
  });

  // Case 070.
  it('have any key for a name; later sources win, prefixes stand in front', () => {
    const one = { plain: 'a', both: 'from-one', '1digit': 'b', 'with.dot': 'c', 'with-dash': 'd', UPPER: 'e' };
    const container = {
      envFrom: [
        { configMapRef: { name: 'one' } },
        { secretRef: { name: 'two' } },
        { prefix: 'P_', configMapRef: { name: 'one' } },
        { prefix: 'Q', secretRef: { name: 'two' } },
      ],
      env: [{ name: 'UPPER', value: 'direct' }],
    };
    const two = { both: 'from-two', sec: 's' };
    expect(values(container, { configMaps: { one }, secrets: { two } })).toEqual({
      '1digit': 'b',
      P_1digit: 'b',
      P_UPPER: 'e',
      P_both: 'from-one',
      P_plain: 'a',
      'P_with-dash': 'd',
      'P_with.dot': 'c',
      Qboth: 'from-two',
      Qsec: 's',
      UPPER: 'direct',
      both: 'from-two',
      plain: 'a',
      sec: 's',
      'with-dash': 'd',
      'with.dot': 'c',
    });
  });

  // Case 159.
  it('are not expanded, and keep line ends and quotes', () => {
    const s = { multi: 'l1\nl2\n', dollar: '$(HOME) $$ `x`', empty: '', quote: 'a"b\'c' };
    const container = {
      envFrom: [{ prefix: 'T_', secretRef: { name: 's' } }],
      env: [{ name: 'T_NESTED', value: '<$(T_dollar)>' }],
    };
    expect(values(container, { secrets: { s } })).toEqual({
      T_multi: 'l1\nl2\n',
      T_dollar: '$(HOME) $$ `x`',
      T_empty: '',
      T_quote: 'a"b\'c',
      T_NESTED: '<$(HOME) $$ `x`>',
    });
  });

  it('are sensitive where they come from a Secret, or are made with such a value', () => {
    const container = {
      envFrom: [{ configMapRef: { name: 'cm' } }, { prefix: 'F_', secretRef: { name: 's' } }],
      env: [
        secretKey('K', 's', 'k'),
        { name: 'MADE', value: 'a $(K)' },
        { name: 'TWICE', value: '$(MADE)' },
        { name: 'PLAIN', value: '$(a) $$(K)' },
        { name: 'F_k', value: 'replaced' },
      ],
    };
    const entries = compose(container, { configMaps: { cm: { a: 'x' } }, secrets: { s: { k: 'v' } } });
    expect(entries.filter(({ sensitive }) => sensitive === true).map(({ name }) => name)).toEqual([
      'K',
      'MADE',
      'TWICE',
    ]);
    expect(entries.map(({ name }) => name)).toEqual(['a', 'F_k', 'K', 'MADE', 'TWICE', 'PLAIN']);
  });

  it('may take an empty value; an optional key that is absent leaves what envFrom set', () => {
    const container = {
      envFrom: [{ configMapRef: { name: 'cm' } }],
      env: [key('A', 'cm', 'gone', true), key('B', 'cm', 'empty')],
    };
    expect(values(container, { configMaps: { cm: { A: 'kept', empty: '' } } })).toEqual({
      A: 'kept',
      empty: '',
      B: '',
    });
  });

  it.each([
    // Case 016.
    [{ env: [key('V', 'late', 'k')] }, 'configmap "late" not found'],
    [{ env: [secretKey('V', 'late', 'k', false)] }, 'secret "late" not found'],
    [{ env: [key('V', 'cm', 'gone')] }, "couldn't find key gone in ConfigMap ns/cm"],
    [{ env: [key('V', 'cm', 'binary')] }, "couldn't find key binary in ConfigMap ns/cm"],
    [{ env: [key('V', 'cm', 'constructor')] }, "couldn't find key constructor in ConfigMap ns/cm"],
    [{ env: [secretKey('V', 's', 'gone')] }, "couldn't find key gone in Secret ns/s"],
    [{ envFrom: [{ configMapRef: { name: 'late' } }], env: [key('V', 'cm', 'gone')] }, 'configmap "late" not found'],
    [{ envFrom: [{ secretRef: { name: 'late' } }] }, 'secret "late" not found'],
  ])('%j is a CreateContainerConfigError', (container, message) => {
    const world = { configMaps: { cm: { a: '1' } }, secrets: { s: { a: '1' } } };
    expect(() => compose(container, world)).toThrow(new ContainerConfigError(message));
  });

  it('cannot be had, optional or not, while the API server will not say whether they are there', () => {
    const failure = new Error('configmaps "x" is forbidden');
    const attempt = (): unknown => compose({ env: [key('V', 'x', 'k', true)] }, { failure });
    expect(attempt).toThrow(new ContainerConfigError('configmaps "x" is forbidden'));
  });
});

describe('variables from resources', () => {
  const field = (resource: string, divisor?: string, containerName?: string): NonNullable<Container['env']> => [
    {
      name: 'V',
      valueFrom: {
        resourceFieldRef: {
          resource,
          ...(divisor === undefined ? {} : { divisor }),
          ...(containerName === undefined ? {} : { containerName }),
        },
      },
    },
  ];
  const set = {
    requests: { cpu: '100m', memory: '64Mi', 'hugepages-2Mi': '4Mi' },
    limits: { cpu: '1500m', memory: '100Mi', 'ephemeral-storage': '1Gi', 'hugepages-2Mi': '4Mi' },
  };

  it.each([
    ['requests.cpu', undefined, '1'],
    ['requests.cpu', '1m', '100'],
    ['requests.cpu', '0', '1'],
    ['limits.cpu', undefined, '2'],
    ['limits.cpu', '1m', '1500'],
    ['requests.memory', undefined, '67108864'],
    ['requests.memory', '1Mi', '64'],
    ['limits.memory', '1Gi', '1'],
    ['limits.memory', '1k', '104858'],
    ['limits.ephemeral-storage', '1Mi', '1024'],
    ['requests.ephemeral-storage', undefined, '0'],
    ['limits.hugepages-2Mi', '1Mi', '4'],
  ])('%s in units of %s is %s', (resource, divisor, expected) => {
    expect(values({ resources: set, env: field(resource, divisor) })['V']).toBe(expected);
  });

  it.each([
    ['limits.cpu', '4'],
    ['limits.memory', String(8 * 2 ** 30)],
    ['limits.ephemeral-storage', String(100 * 2 ** 30)],
    ['limits.hugepages-2Mi', '0'],
    ['requests.cpu', '0'],
    ['requests.memory', '0'],
  ])('%s that is not set is %s: a limit what the node can give, a request nothing', (resource, expected) => {
    expect(values({ env: field(resource) })['V']).toBe(expected);
  });

  it('take limits of the pod as a whole before those of the node', () => {
    const spec = { resources: { limits: { cpu: '3', memory: '1Gi' } } };
    expect(values({ env: field('limits.cpu') }, { spec })['V']).toBe('3');
    expect(values({ env: field('limits.memory') }, { spec })['V']).toBe(String(2 ** 30));
    expect(values({ resources: set, env: field('limits.cpu', '1m') }, { spec })['V']).toBe('1500');
  });

  it('may be those of another container; only main ones have defaults there', () => {
    const containers = [makeContainer('other', { resources: { limits: { cpu: '2' } } })];
    const initContainers = [makeContainer('init')];
    const spec = { containers, initContainers };
    expect(values({ env: field('limits.cpu', '1', 'other') }, { spec })['V']).toBe('2');
    expect(values({ env: field('limits.memory', '1Gi', 'other') }, { spec })['V']).toBe('8');
    expect(values({ env: field('limits.cpu', '1', 'init') }, { spec })['V']).toBe('0');
    expect(() => compose({ env: field('limits.cpu', '1', 'nobody') }, { spec })).toThrow(
      new ContainerConfigError('container nobody not found'),
    );
  });
});

describe('variables from files', () => {
  const from = (name: string, of: string, optional = false, volumeName = 'd') => ({
    name,
    valueFrom: { fileKeyRef: { volumeName, path: 'env', key: of, optional } },
  });
  const spec = { volumes: [{ name: 'd', emptyDir: {} }] };
  const files = { 'd/env': "A='one two'\nB='x'\n" };

  // Case 137.
  it('have the value of their key; an optional key that is not there leaves them out', () => {
    expect(values({ env: [from('T_A', 'A'), from('T_OPT', 'ZZ', true)] }, { spec, files })).toEqual({ T_A: 'one two' });
  });

  it.each([
    [from('V', 'ZZ'), files, undefined],
    [from('V', 'A'), {}, "couldn't parse env file"],
    [from('V', 'A', true), {}, "couldn't parse env file"],
    [from('V', 'A'), { 'd/env': 'A=x' }, "couldn't parse env file"],
    [from('V', 'A', false, 'e'), files, 'cannot find the volume "e" referenced by FileKeyRef'],
  ])('%j are a CreateContainerConfigError', (variable, present, message) => {
    const directory = `/var/lib/kubelet/pods/${POD_UID}/volumes/kubernetes.io~empty-dir/d`;
    const text = message ?? `environment variable key "ZZ" not found in file "${directory}/env"`;
    expect(() => compose({ env: [variable] }, { spec, files: present })).toThrow(new ContainerConfigError(text));
  });
});

it('names everything that has to be read, once', () => {
  const container = makeContainer('c', {
    envFrom: [
      { configMapRef: { name: 'a' } },
      { secretRef: { name: 'b' } },
      { prefix: 'x', configMapRef: { name: 'a' } },
    ],
    env: [
      key('A', 'a', 'k'),
      key('B', 'c', 'k'),
      secretKey('C', 'a', 'k'),
      { name: 'D', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } },
      { name: 'E', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'l' } } },
      { name: 'F', value: 'x' },
    ],
  });
  expect(envReferences(container)).toEqual([
    { kind: 'ConfigMap', name: 'a' },
    { kind: 'Secret', name: 'b' },
    { kind: 'ConfigMap', name: 'c' },
    { kind: 'Secret', name: 'a' },
    { kind: 'File', volume: 'v', path: 'p' },
  ]);
});
