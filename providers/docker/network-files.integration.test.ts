import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { EngineNode, refOf } from './testing/engine-node.ts';

const SHOW = 'cat /etc/hosts; echo; cat /etc/resolv.conf; hostname; hostname -f; echo "$HOSTNAME"';

describe('names in a container of an engine', () => {
  let node: EngineNode;
  beforeEach(() => {
    node = new EngineNode(inject('testBed').socket);
  });
  afterEach(() => node.dispose());

  it("are the kubelet's, in files that all containers of the pod share", async () => {
    const provider = await node.open();
    const base = node.sandbox();
    const sandbox = {
      ...base,
      hostname: 'custom',
      network: {
        ...base.network,
        hostnames: ['custom.sub.ns.svc.cluster.local', 'custom'],
        hostAliases: [{ ip: '10.1.2.3', hostnames: ['foo', 'bar'] }],
        dns: { servers: ['10.96.0.10'], searches: ['ns.svc.cluster.local', 'b'], options: ['ndots:5'] },
      },
    };
    await provider.ensureSandbox(sandbox, node.options);
    const ip = (await provider.inspect(sandbox.pod.uid, node.options))?.ips[0];
    const first = node.shell(`${SHOW}; echo "10.9.9.9 mine" >> /etc/hosts`, {
      name: 'first',
      security: { readOnlyRootFilesystem: true },
    });
    expect(await node.run(provider, sandbox, first)).toBe(`# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
${ip}\tcustom.sub.ns.svc.cluster.local\tcustom

# Entries added by HostAliases.
10.1.2.3\tfoo\tbar

search ns.svc.cluster.local b
nameserver 10.96.0.10
options ndots:5
custom
custom.sub.ns.svc.cluster.local
custom
`);
    const second = node.shell('tail -n 1 /etc/hosts; ls -l /etc/hosts | cut -c1-10');
    expect(await node.run(provider, sandbox, second)).toBe('10.9.9.9 mine\n-rw-r--r--\n');
  });

  it("are the engine's resolver where nothing is asked for, and a whole name if the pod has one", async () => {
    const provider = await node.open();
    const sandbox = node.sandbox({ hostname: 'custom.sub.ns.svc.cluster.local' });
    await provider.ensureSandbox(sandbox, node.options);
    const output = await node.run(provider, sandbox, node.shell('grep nameserver /etc/resolv.conf; hostname'));
    expect(output).toBe('nameserver 127.0.0.11\ncustom.sub.ns.svc.cluster.local\n');
    await provider.removeSandbox(sandbox.pod.uid, node.options);
    expect(await provider.inspect(sandbox.pod.uid, node.options)).toBeUndefined();
  });

  it('files that a container wrote into a volume can be read, and links lead nowhere else', async () => {
    const provider = await node.open();
    const sandbox = node.sandbox({
      volumes: [
        { kind: 'emptyDir', name: 'v', medium: 'disk' },
        {
          kind: 'files',
          name: 's',
          files: [{ path: 'key', mode: 0o600, data: Buffer.from('secret') }],
          revision: '1',
          medium: 'memory',
        },
      ],
    });
    await provider.ensureSandbox(sandbox, node.options);
    const script = `mkdir /v/d; printf "A='x'" > /v/d/env; ln -s d/env /v/link; ln -s /d /v/abs; ln -s ../s/key /v/out; ln -s loop /v/loop`;
    const writer = node.shell(script, { mounts: [{ volume: 'v', path: '/v', readOnly: false }] });
    await node.run(provider, sandbox, writer);
    await node.until(provider, refOf(sandbox, writer), (container) => container?.state.status === 'exited');
    const read = async (path: string): Promise<string | undefined> => {
      const data = await provider.readVolumeFile?.(sandbox.pod.uid, 'v', path, node.options);
      return data === undefined ? undefined : Buffer.from(data).toString();
    };
    for (const path of ['d/env', 'link', 'abs/env', 'd/../link']) expect(await read(path), path).toBe("A='x'");
    for (const path of ['none', 'd', 'out', 'loop', 'd/env/more']) expect(await read(path), path).toBeUndefined();
  });
});
