import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/util/clock.ts';
import type { ContainerProvider, DialTarget, PodUid, SandboxSpec } from '../contract/index.ts';
import { EngineNode } from './testing/engine-node.ts';

const AGNHOST = 'registry.k8s.io/e2e-test-images/agnhost:2.63.0';
const IDLE_MS = 30_000;

/** Processes that this one has started. */
function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === String(parent);
      } catch {
        return false; // gone while we looked
      }
    })
    .map(Number);
}

function isThere(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(what: string, holds: () => Promise<boolean> | boolean, { signal } = new AbortController()) {
  for (let tries = 0; tries < 300; tries++) {
    if (await holds()) return;
    await systemClock.sleep(50, { signal });
  }
  throw new Error(`${what}: not within 15 s`);
}

async function read(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function echoed(stream: Duplex, text: string): Promise<string> {
  stream.end(text);
  return read(stream);
}

describe('dialling into pods of an engine', () => {
  let node: EngineNode;
  let closing: Server | undefined;
  beforeEach(() => {
    node = new EngineNode(inject('testBed').socket);
    closing = undefined;
  });
  afterEach(async () => {
    closing?.close();
    await node.dispose();
  });

  async function podWith(
    provider: ContainerProvider,
    script: string,
    port: number,
    image?: string,
  ): Promise<SandboxSpec> {
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    await provider.startContainer(pod, node.shell(script, image === undefined ? {} : { image }), node.options);
    const { uid } = pod.pod;
    const pid = (await sandboxOf(uid)).State.Pid;
    const hex = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    await until('the server to listen', () =>
      ['tcp', 'tcp6'].some((file) =>
        readFileSync(`/proc/${pid}/net/${file}`, 'utf8')
          .split('\n')
          .some((line) => line.split(/\s+/)[2]?.endsWith(hex) === true && line.includes(' 0A ')),
      ),
    );
    return pod;
  }

  async function sandboxOf(uid: PodUid) {
    const [info] = await node.docker.listContainers({
      filters: { label: [`io.kubernetes.pod.uid=${uid}`, 'outrigger/kind=sandbox'] },
    });
    return node.docker.getContainer(info?.Id ?? '').inspect();
  }

  async function relays(): Promise<readonly string[]> {
    const label = [`outrigger/node=${node.name}`, 'outrigger/kind=relay'];
    return (await node.docker.listContainers({ all: true, filters: { label } })).map(({ Id }) => Id);
  }

  function dial(provider: ContainerProvider, pod: SandboxSpec, target: DialTarget): Promise<Duplex> {
    if (provider.dial === undefined) throw new Error('no dial facet');
    return provider.dial.dial(pod.pod.uid, target, node.options);
  }

  const ECHO = 'nc -ll -p 7000 127.0.0.1 -e cat';

  describe.each(['netns', 'relay'] as const)('by %s', (portForward) => {
    it('reaches a server on ::1 alone', async () => {
      const provider = await node.open({ portForward });
      const pod = node.sandbox();
      await provider.ensureSandbox(pod, node.options);
      const { Pid } = (await sandboxOf(pod.pod.uid)).State;
      // The engine switches IPv6 off in networks that have none.
      execFileSync('nsenter', ['-t', String(Pid), '-n', 'sh', '-c', 'echo 0 >/proc/sys/net/ipv6/conf/lo/disable_ipv6']);
      await provider.startContainer(pod, node.shell('nc -ll -p 7000 ::1 -e cat'), node.options);
      let stream: Duplex | undefined;
      await until('the server to listen', async () => {
        stream = await dial(provider, pod, { to: 'loopback', port: 7000 }).catch(() => undefined);
        return stream !== undefined;
      });
      expect(stream && (await echoed(stream, 'six'))).toBe('six');
    });

    it('leaves nothing behind when this process is killed', async () => {
      const pod = await podWith(await node.open(), ECHO, 7000);
      const script = join(import.meta.dirname, 'testing/dialling-process.ts');
      const args = [script, node.socket, node.name, pod.pod.uid, '7000', portForward];
      const process_ = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(process_.stdout, 'data');
      const helpers = childrenOf(process_.pid ?? 0);
      expect([helpers.length, (await relays()).length]).toEqual(portForward === 'netns' ? [1, 0] : [0, 1]);
      process_.kill('SIGKILL');
      await until('helpers to end', () => !helpers.some(isThere));
      await until('relays to end', async () => (await relays()).length === 0);
    });

    it('keeps its helper for half a minute after the last use, and no longer than the pod', async () => {
      const waiting: (() => void)[] = [];
      const clock = {
        ...systemClock,
        sleep: (ms: number, options: { readonly signal: AbortSignal }) =>
          ms === IDLE_MS ? new Promise<void>((resolve) => waiting.push(resolve)) : systemClock.sleep(ms, options),
      };
      const provider = await node.open({ portForward, requestTimeoutSeconds: 31 }, { clock });
      const pod = await podWith(provider, ECHO, 7000);
      const before = childrenOf(process.pid);
      const helpers = async (): Promise<number> =>
        childrenOf(process.pid).filter((pid) => !before.includes(pid) && isThere(pid)).length + (await relays()).length;
      const target: DialTarget = { to: 'loopback', port: 7000 };
      expect(await echoed(await dial(provider, pod, target), 'one')).toBe('one');
      expect(await echoed(await dial(provider, pod, target), 'two')).toBe('two');
      expect(await helpers()).toBe(1);
      await until('the last connection to be let go', () => waiting.length > 0);
      for (const resolve of waiting) resolve();
      await until('the helper to end', async () => (await helpers()) === 0);
      expect(await echoed(await dial(provider, pod, target), 'three')).toBe('three');
      expect(await helpers()).toBe(1);
      await provider.stopSandbox(pod.pod.uid, node.options);
      expect(await helpers()).toBe(0);
      await expect(dial(provider, pod, target)).rejects.toMatchObject({ code: 'NotFound' });
    });
  });

  it('makes 100 connections to a loopback at once', async () => {
    const provider = await node.open({ portForward: 'netns' });
    const pod = await podWith(provider, 'exec /agnhost netexec --http-port 8080', 8080, AGNHOST);
    const answers = Array.from({ length: 100 }, async () =>
      echoed(await dial(provider, pod, { to: 'loopback', port: 8080 }), 'GET /hostname HTTP/1.0\r\n\r\n'),
    );
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1\.0 200 OK/);
  });

  it('does not take a relay for a container of the pod', async () => {
    const provider = await node.open({ portForward: 'relay' });
    const pod = await podWith(provider, ECHO, 7000);
    expect(await echoed(await dial(provider, pod, { to: 'loopback', port: 7000 }), 'x')).toBe('x');
    const [id = ''] = await relays();
    expect((await provider.list(node.options)).map(({ containers }) => containers.map(({ name }) => name))).toEqual([
      ['main'],
    ]);
    const { HostConfig, Config } = await node.docker.getContainer(id).inspect();
    expect(HostConfig).toMatchObject({ CapDrop: ['ALL'], ReadonlyRootfs: true, SecurityOpt: ['no-new-privileges'] });
    expect(Config.User).toBe('65534:65534');
    await provider.removeSandbox(pod.pod.uid, node.options);
    expect(await relays()).toEqual([]);
  });

  it('removes a relay whose process has gone without it', async () => {
    const provider = await node.open({ portForward: 'relay' });
    const pod = await podWith(provider, ECHO, 7000);
    await dial(provider, pod, { to: 'loopback', port: 7000 });
    const restarted = await node.open({ portForward: 'relay' });
    await restarted.list(node.options);
    await until('the relay to go', async () => (await relays()).length === 0);
    expect(await echoed(await dial(provider, pod, { to: 'loopback', port: 7000 }), 'again')).toBe('again');
  });

  it('says what to configure when the image of relays is not there, or has no nc', async () => {
    const missing = await node.open({ portForward: 'relay', relayImage: 'localhost/outrigger-no-such-image:1' });
    const pod = await podWith(missing, ECHO, 7000);
    const target: DialTarget = { to: 'loopback', port: 7000 };
    const words = 'the relay image "localhost/outrigger-no-such-image:1" is not on the engine and cannot be pulled';
    await expect(dial(missing, pod, target)).rejects.toMatchObject({ message: expect.stringContaining(words) });
    await expect(dial(missing, pod, target)).rejects.toThrow('relayImage names another one');
    const empty = await node.open({ portForward: 'relay', relayImage: 'registry.k8s.io/pause:3.10.2' });
    await expect(dial(empty, pod, target)).rejects.toThrow('relayImage');
    expect(await relays()).toEqual([]);
  });

  it('goes through a relay to pods of an engine on another machine, and dials no other hosts there', async () => {
    // This machine by another name than its loopback.
    const proxy = createServer({ allowHalfOpen: true }, (from) => {
      const to = connect({ path: node.socket, allowHalfOpen: true });
      for (const end of [from, to]) end.on('error', () => {});
      from.pipe(to).pipe(from);
    });
    closing = proxy;
    await once(proxy.listen(0, '0.0.0.0'), 'listening');
    const address = proxy.address();
    const host = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
    const port = typeof address === 'object' ? address?.port : undefined;
    const provider = await node.open({ socketPath: undefined, host, port });
    const pod = await podWith(provider, 'nc -ll -p 7000 -e cat & nc -ll -p 7001 127.0.0.1 -e cat', 7001);
    expect(await echoed(await dial(provider, pod, { to: 'pod', port: 7000 }), 'far')).toBe('far');
    await expect(dial(provider, pod, { to: 'pod', port: 7001 })).rejects.toMatchObject({ code: 'ConnectionRefused' });
    const other = dial(provider, pod, { to: 'host', host: '192.0.2.1', port: 80 });
    await expect(other).rejects.toMatchObject({ code: 'Unsupported' });
    expect(await relays()).toHaveLength(1);
    await provider.close();
    expect(await relays()).toEqual([]);
  });
});
