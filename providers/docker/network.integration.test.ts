import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { EngineNode, refOf } from './testing/engine-node.ts';

describe('the pod network of a node on an engine', () => {
  let node: EngineNode;
  beforeEach(() => {
    node = new EngineNode(inject('testBed').socket);
  });
  afterEach(() => node.dispose());

  it('is made once by pods that start together, and gives each an address of its own', async () => {
    const provider = await node.open();
    const pods = Array.from({ length: 8 }, () => node.sandbox());
    await Promise.all(pods.map((pod) => provider.ensureSandbox(pod, node.options)));
    expect(await node.networks()).toHaveLength(1);
    const ips = (await provider.list(node.options)).flatMap((pod) => pod.ips);
    expect(new Set(ips).size).toBe(pods.length);
    const [prefix] = node.subnet.split('.0/24');
    expect(ips.every((ip) => ip.startsWith(`${prefix}.`))).toBe(true);
  });

  it('is made once by two processes', async () => {
    const providers = await Promise.all([node.open(), node.open(), node.open()]);
    await Promise.all(providers.map((provider) => provider.ensureSandbox(node.sandbox(), node.options)));
    expect(await node.networks()).toHaveLength(1);
  });

  it('is replaced when the node got another subnet and no pod runs', async () => {
    const first = node.sandbox();
    const provider = await node.open();
    await provider.ensureSandbox(first, node.options);
    const other = new EngineNode(node.socket).subnet;
    const second = node.sandbox({ network: { ...first.network, subnet: other } });
    await expect(provider.ensureSandbox(second, node.options)).rejects.toMatchObject({
      code: 'AlreadyExists',
      message: `network "outrigger_${node.name}" has subnet ${node.subnet} and is in use; wanted is ${other}`,
    });
    await provider.removeSandbox(first.pod.uid, node.options);
    await provider.ensureSandbox(second, node.options);
    expect((await node.networks()).map(({ IPAM }) => IPAM?.Config?.[0]?.Subnet)).toEqual([other]);
  });

  it('that overlaps with a foreign one is refused by name', async () => {
    const foreign = await node.docker.createNetwork({
      Name: `${node.name}-foreign`,
      IPAM: { Config: [{ Subnet: node.subnet }] },
    });
    try {
      const provider = await node.open();
      await expect(provider.ensureSandbox(node.sandbox(), node.options)).rejects.toMatchObject({
        reason: 'PodNetworkOverlaps',
        message: expect.stringContaining(`"${node.name}-foreign" (${node.subnet})`),
      });
    } finally {
      await foreign.remove();
    }
  });

  it('goes with the process when nobody uses it, and stays otherwise', async () => {
    const provider = await node.open();
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    await provider.close();
    expect(await node.networks()).toHaveLength(1);
    const next = await node.open();
    await next.removeSandbox(pod.pod.uid, node.options);
    await next.close();
    expect(await node.networks()).toEqual([]);
  });

  it('comes back when someone has removed it', async () => {
    const provider = await node.open();
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    await provider.removeSandbox(pod.pod.uid, node.options);
    const [network] = await node.networks();
    await node.docker.getNetwork(network?.Id ?? '').remove();
    const again = node.sandbox();
    // The first try finds out, the next one mends it.
    await provider.ensureSandbox(again, node.options).catch(() => provider.ensureSandbox(again, node.options));
    expect((await provider.inspect(again.pod.uid, node.options))?.state).toBe('ready');
  });

  it('carries host name, aliases, DNS and host ports of the pod', async () => {
    const provider = await node.open();
    // Below the ports that connections of this machine take by themselves.
    const hostPort = 20_000 + Math.floor(Math.random() * 12_000);
    const pod = node.sandbox({
      network: {
        mode: 'pod',
        subnet: node.subnet,
        ports: [{ containerPort: 8080, protocol: 'TCP', hostPort, hostIp: '127.0.0.1' }],
        dns: { servers: ['192.0.2.53'], searches: ['it.svc.example'], options: ['ndots:5'] },
        hostAliases: [{ ip: '192.0.2.9', hostnames: ['alias-a', 'alias-b'] }],
      },
    });
    await provider.ensureSandbox(pod, node.options);
    const seen = await node.run(provider, pod, node.shell('hostname; cat /etc/hosts /etc/resolv.conf'));
    for (const line of ['host-of-pod\n', '192.0.2.9\talias-a\talias-b\n', 'search it.svc.example\n']) {
      expect(seen).toContain(line);
    }
    expect(seen).toMatch(/^options .*ndots:5/m);
    const server = node.shell('mkdir /w; echo served > /w/index.html; httpd -f -p 8080 -h /w', { name: 'web' });
    await provider.startContainer(pod, server, node.options);
    await node.until(provider, refOf(pod, server), (container) => container?.state.status === 'running');
    const answer = await fetchSoon(`http://127.0.0.1:${hostPort}/`);
    expect(answer).toBe('served\n');
  });
});

async function fetchSoon(url: string): Promise<string> {
  for (let tries = 0; ; tries++) {
    try {
      return await (await fetch(url)).text();
    } catch (error) {
      if (tries > 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
