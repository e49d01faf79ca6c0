import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Container, Pod, Service } from '../model/pod.ts';
import { makeContainer, makePod, POD_UID, type PodOverrides } from '../testing/builders.ts';
import { ContainerConfigError } from './config-error.ts';
import { composeEnv, type EnvInput } from './env.ts';
import { NO_ENV_OBJECTS, primaryFirst } from './env-sources.ts';

type ServiceSpec = NonNullable<Service['spec']>;

function makeService(name: string, namespace: string, spec: ServiceSpec): Service {
  return { metadata: { name, namespace, uid: `${namespace}/${name}` }, spec };
}

const KUBERNETES = makeService('kubernetes', 'default', {
  clusterIP: '10.96.0.1',
  ports: [{ name: 'https', port: 443, protocol: 'TCP' }],
});

interface Overrides extends Partial<Omit<EnvInput, 'pod' | 'container'>> {
  readonly pod?: PodOverrides;
}

function compose(env: Container['env'], { pod = {}, ...rest }: Overrides = {}): Record<string, string> {
  const input: EnvInput = {
    pod: makePod({ ...pod, spec: { enableServiceLinks: true, ...pod.spec } }),
    container: makeContainer('c', env === undefined ? {} : { env }),
    services: [],
    hostIPs: ['192.168.0.10'],
    podIPs: ['10.0.0.7'],
    allocatable: { cpuMilli: 4000, memoryBytes: 2 ** 33, ephemeralBytes: 2 ** 36 },
    objects: NO_ENV_OBJECTS,
    ...rest,
  };
  const result = composeEnv(input);
  expect(new Set(result.map(({ name }) => name)).size, 'every name once').toBe(result.length);
  return Object.fromEntries(result.map(({ name, value }) => [name, value]));
}

const ref = (name: string, fieldPath: string): NonNullable<Container['env']>[number] => ({
  name,
  valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } },
});

describe('environment of a container', () => {
  it('takes literals in order; a name used twice has its last value', () => {
    const env = [{ name: 'ONE', value: 'first' }, { name: 'EMPTY' }, { name: 'ONE', value: 'second' }];
    expect(compose(env)).toEqual({ ONE: 'second', EMPTY: '' });
  });

  // reference 10.2: sees what stands above it, then service variables; never what stands below.
  it('expands literals from entries above and from service variables', () => {
    const env = [
      { name: 'EARLY', value: '$(LATE)' },
      { name: 'LATE', value: 'x' },
      { name: 'AFTER', value: '$(LATE)-$(KUBERNETES_SERVICE_PORT)-$$(LATE)' },
      { name: 'KUBERNETES_SERVICE_PORT', value: 'mine' },
      { name: 'OWN', value: '$(KUBERNETES_SERVICE_PORT)' },
    ];
    expect(compose(env, { services: [KUBERNETES] })).toMatchObject({
      EARLY: '$(LATE)',
      AFTER: 'x-443-$(LATE)',
      KUBERNETES_SERVICE_PORT: 'mine',
      OWN: 'mine',
    });
  });

  it('does not expand values that come from fields', () => {
    const pod = { metadata: { annotations: { note: '$(A)' } } };
    expect(compose([{ name: 'A', value: 'a' }, ref('B', "metadata.annotations['note']")], { pod })['B']).toBe('$(A)');
  });

  // Case 068 of the oracle, recorded on the kubelet.
  it.each([
    ['metadata.name', 'p'],
    ['metadata.namespace', 'ns'],
    ['metadata.uid', POD_UID],
    ["metadata.labels['app']", 'x'],
    ["metadata.labels['with.dots/and-slash']", 'v1'],
    ["metadata.labels['absent']", ''],
    ["metadata.annotations['note']", 'line one\nline two'],
    ['spec.nodeName', 'node'],
    ['spec.host', 'node'],
    ['spec.serviceAccountName', 'default'],
    ['status.podIP', '10.0.0.7'],
    ['status.podIPs', '10.0.0.7,fd00::7'],
    ['status.hostIP', '192.168.0.10'],
    ['status.hostIPs', '192.168.0.10,fd00::1'],
  ])('reads the field %s', (path, expected) => {
    const pod = {
      metadata: { labels: { app: 'x', 'with.dots/and-slash': 'v1' }, annotations: { note: 'line one\nline two' } },
      spec: { serviceAccountName: 'default' },
    };
    const addresses = { hostIPs: ['192.168.0.10', 'fd00::1'], podIPs: ['fd00::7', '10.0.0.7'] };
    expect(compose([ref('V', path)], { pod, ...addresses })).toEqual({ V: expected });
  });

  it('waits for Services, with the words of the kubelet', () => {
    const attempt = (): unknown => compose([], { services: undefined });
    expect(attempt).toThrow(ContainerConfigError);
    expect(attempt).toThrow(/^services have not yet been read at least once, cannot construct envvars$/);
    const pod: Pod = makePod();
    const around = { hostIPs: [], podIPs: [], allocatable: undefined, objects: NO_ENV_OBJECTS };
    const input = { pod, container: makeContainer(), services: [], ...around };
    expect(() => composeEnv(input)).toThrow(/^nil pod.spec.enableServiceLinks encountered, cannot construct envvars$/);
  });

  it('never starts a container without a value it asks for', () => {
    const later = { name: 'S', valueFrom: { somethingNew: {} } as object };
    expect(() => compose([later])).toThrow('env source is not supported yet: somethingNew');
    expect(() => compose([ref('L', 'metadata.labels')])).toThrow('field label not supported: metadata.labels');
  });
});

describe('service variables', () => {
  const own = makeService('my-svc', 'ns', {
    clusterIP: '10.96.7.7',
    ports: [
      { name: 'web-ui', port: 80, protocol: 'TCP' },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ],
  });
  const others = [
    makeService('headless', 'ns', { clusterIP: 'None', ports: [{ port: 80 }] }),
    makeService('external', 'ns', { type: 'ExternalName' }),
    makeService('foreign', 'other', { clusterIP: '10.96.1.1', ports: [{ port: 80 }] }),
    makeService('plain', 'default', { clusterIP: '10.96.1.2', ports: [{ port: 80 }] }),
  ];

  // Case 072 of the oracle, recorded on the kubelet.
  it('describe every port of a service with a cluster IP, and the API server', () => {
    expect(compose([], { services: [own, ...others, KUBERNETES] })).toEqual({
      KUBERNETES_PORT: 'tcp://10.96.0.1:443',
      KUBERNETES_PORT_443_TCP: 'tcp://10.96.0.1:443',
      KUBERNETES_PORT_443_TCP_ADDR: '10.96.0.1',
      KUBERNETES_PORT_443_TCP_PORT: '443',
      KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
      KUBERNETES_SERVICE_HOST: '10.96.0.1',
      KUBERNETES_SERVICE_PORT: '443',
      KUBERNETES_SERVICE_PORT_HTTPS: '443',
      MY_SVC_PORT: 'tcp://10.96.7.7:80',
      MY_SVC_PORT_53_UDP: 'udp://10.96.7.7:53',
      MY_SVC_PORT_53_UDP_ADDR: '10.96.7.7',
      MY_SVC_PORT_53_UDP_PORT: '53',
      MY_SVC_PORT_53_UDP_PROTO: 'udp',
      MY_SVC_PORT_80_TCP: 'tcp://10.96.7.7:80',
      MY_SVC_PORT_80_TCP_ADDR: '10.96.7.7',
      MY_SVC_PORT_80_TCP_PORT: '80',
      MY_SVC_PORT_80_TCP_PROTO: 'tcp',
      MY_SVC_SERVICE_HOST: '10.96.7.7',
      MY_SVC_SERVICE_PORT: '80',
      MY_SVC_SERVICE_PORT_DNS: '53',
      MY_SVC_SERVICE_PORT_WEB_UI: '80',
    });
  });

  it('are only those of the API server when links are off', () => {
    const variables = compose([], { services: [own, KUBERNETES], pod: { spec: { enableServiceLinks: false } } });
    expect(Object.keys(variables).every((name) => name.startsWith('KUBERNETES_'))).toBe(true);
    expect(variables['KUBERNETES_SERVICE_HOST']).toBe('10.96.0.1');
  });

  it.each([[[0, 1]], [[1, 0]]])('prefer a service kubernetes of the own namespace, whatever the order', (order) => {
    const mine = makeService('kubernetes', 'ns', { clusterIP: '10.96.9.9', ports: [{ port: 1 }] });
    const services = order.map((i) => [mine, KUBERNETES][i]).filter((service) => service !== undefined);
    expect(compose([], { services })['KUBERNETES_SERVICE_HOST']).toBe('10.96.9.9');
  });

  it('put IPv6 addresses in brackets', () => {
    const services = [makeService('six', 'ns', { clusterIP: 'fd00::5', ports: [{ port: 80 }] })];
    expect(compose([], { services })).toMatchObject({
      SIX_PORT: 'tcp://[fd00::5]:80',
      SIX_PORT_80_TCP_ADDR: 'fd00::5',
    });
  });

  it('yield to names that the container sets', () => {
    const env = [{ name: 'KUBERNETES_PORT', value: 'mine' }];
    expect(compose(env, { services: [KUBERNETES] })['KUBERNETES_PORT']).toBe('mine');
  });
});

it('orders pod addresses as the node does, one per family', () => {
  const ips = fc.subarray(['10.0.0.7', '10.0.0.8', 'fd00::7', 'fd00::8'], { minLength: 1 });
  fc.assert(
    fc.property(ips, fc.constantFrom('192.168.0.1', 'fd00::1'), (podIPs, hostIP) => {
      const ordered = primaryFirst(podIPs, [hostIP]);
      const isSix = (ip: string): boolean => ip.includes(':');
      expect(new Set(ordered.map(isSix)).size).toBe(ordered.length);
      if (podIPs.some((ip) => isSix(ip) === isSix(hostIP))) expect(isSix(ordered[0] ?? '')).toBe(isSix(hostIP));
    }),
  );
});
