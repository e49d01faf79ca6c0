import { describe, expect, it } from 'vitest';
import { makeContainer, makePod, POD_UID } from '../testing/builders.ts';
import { buildSandbox, type SandboxInput } from './sandbox.ts';

function build(overrides: Partial<SandboxInput> = {}): ReturnType<typeof buildSandbox> {
  return buildSandbox({
    pod: makePod(),
    attempt: 0,
    volumes: [],
    facts: {},
    names: { hostname: 'p', hostnames: ['p'] },
    dns: undefined,
    hintsPrefix: 'docker.outrigger/',
    ...overrides,
  });
}

describe('sandbox spec', () => {
  it('identifies the pod and can be recognised after a restart', () => {
    expect(build({ attempt: 2 })).toEqual({
      pod: { uid: POD_UID, namespace: 'ns', name: 'p' },
      attempt: 2,
      hostname: 'p',
      network: { mode: 'pod', ports: [], hostnames: ['p'], hostAliases: [] },
      volumes: [],
      sharePidNamespace: false,
      labels: expect.objectContaining({ 'io.kubernetes.pod.uid': POD_UID }),
      hints: {},
    });
  });

  it('has the network of its node and the ports of all its containers', () => {
    const first = makeContainer('a', {
      ports: [{ containerPort: 80, hostPort: 8080, hostIP: '127.0.0.1', protocol: 'TCP' }],
    });
    const second = makeContainer('b', { ports: [{ containerPort: 53, protocol: 'UDP' }, { containerPort: 81 }] });
    const dns = { servers: ['10.96.0.10'], searches: [], options: [] };
    const pod = makePod({ spec: { containers: [first, second] } });
    expect(build({ pod, facts: { podCidr: '10.0.0.0/24' }, dns }).network).toEqual({
      mode: 'pod',
      subnet: '10.0.0.0/24',
      ports: [
        { containerPort: 80, protocol: 'TCP', hostPort: 8080, hostIp: '127.0.0.1' },
        { containerPort: 53, protocol: 'UDP' },
        { containerPort: 81, protocol: 'TCP' },
      ],
      dns,
      hostnames: ['p'],
      hostAliases: [],
    });
  });

  it('has the aliases of the pod', () => {
    const hostAliases = [{ ip: '10.1.2.3', hostnames: ['a', 'b'] }, { ip: '10.1.2.4' }];
    expect(build({ pod: makePod({ spec: { hostAliases } }) }).network.hostAliases).toEqual([
      { ip: '10.1.2.3', hostnames: ['a', 'b'] },
      { ip: '10.1.2.4', hostnames: [] },
    ]);
  });

  it('shares with the node what the pod asks to share', () => {
    expect(build({ pod: makePod({ spec: { hostPID: true, hostIPC: true } }) })).toMatchObject({
      hostPid: true,
      hostIpc: true,
    });
    expect(build({ pod: makePod({ spec: { hostNetwork: true } }) }).network.mode).toBe('host');
    expect(build({ pod: makePod({ spec: { shareProcessNamespace: true } }) }).sharePidNamespace).toBe(true);
  });

  it('has the sysctls of the pod under the names of the kernel, and the runtime that it is given', () => {
    const sysctls = [{ name: 'net/ipv4/tcp_syncookies', value: '0' }];
    expect(build({ pod: makePod({ spec: { securityContext: { sysctls } } }) }).sysctls).toEqual({
      'net.ipv4.tcp_syncookies': '0',
    });
    expect(build({ runtimeHandler: 'runsc' }).runtimeHandler).toBe('runsc');
    expect(build({ runtimeHandler: '' })).not.toHaveProperty('runtimeHandler');
  });

  it('hands the provider the annotations under its own prefix', () => {
    const annotations = { 'docker.outrigger/gpus': 'all', 'other/x': 'y' };
    expect(build({ pod: makePod({ metadata: { annotations } }) }).hints).toEqual({ gpus: 'all' });
  });
});
