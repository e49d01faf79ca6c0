import type { Duplex } from 'node:stream';
import { expect } from 'vitest';
import type { DialTarget, PodUid, Provider } from '../contract/index.ts';
import { mapLimit } from '../shared/map-limit.ts';
import type { Case, Excuse } from './case.ts';
import { PORTS, SERVERS } from './harness.ts';
import { runPod } from './pods.ts';
import type { World } from './world.ts';

const needsDial: Excuse = (provider) => (provider.dial === undefined ? 'no dial facet' : undefined);

const needsBothHalves: Excuse = (provider, harness) =>
  harness.dialKeepsHalves ? needsDial(provider, harness) : "the end of the target's output ends the connection";

interface Pod {
  readonly uid: PodUid;
  dial(to: 'pod' | 'loopback', port: number, signal?: AbortSignal): Promise<Duplex>;
}

/** A pod whose servers listen. */
async function serving(provider: Provider, world: World): Promise<Pod> {
  const sandbox = await runPod(provider, world, world.container(SERVERS));
  const { uid } = sandbox.pod;
  const pod: Pod = {
    uid,
    dial: (to, port, signal = world.options.signal) => dial(provider, uid, { to, port }, signal),
  };
  await world.eventually('the servers to listen', () => listens(pod, PORTS.last), Boolean);
  return pod;
}

function dial(provider: Provider, uid: PodUid, target: DialTarget, signal: AbortSignal): Promise<Duplex> {
  if (provider.dial === undefined) throw new Error('no dial facet');
  return provider.dial.dial(uid, target, { signal });
}

async function listens(pod: Pod, port: number): Promise<boolean> {
  try {
    (await pod.dial('loopback', port)).destroy();
    return true;
  } catch {
    return false;
  }
}

async function read(stream: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** What an echo server makes of it: ending the input is what ends the answer. */
async function echoed(stream: Duplex, text: string): Promise<string> {
  const answer = read(stream);
  stream.end(text);
  return answer;
}

export const dialCases: readonly Case<Provider>[] = [
  {
    name: "reaches a port of the pod's address, and the same port through the loopback",
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      expect(await echoed(await pod.dial('pod', PORTS.echo), 'to the pod')).toBe('to the pod');
      expect(await echoed(await pod.dial('loopback', PORTS.echo), 'to its loopback')).toBe('to its loopback');
    },
  },
  {
    name: 'reaches what listens on localhost only through the loopback',
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      expect(await echoed(await pod.dial('loopback', PORTS.local), 'inside')).toBe('inside');
      await expect(pod.dial('pod', PORTS.local)).rejects.toMatchObject({ code: 'ConnectionRefused' });
    },
  },
  {
    name: "says of a closed port that it refused, in Go's words",
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      const refusal = { code: 'ConnectionRefused', message: 'connect: connection refused' };
      await expect(pod.dial('pod', PORTS.closed)).rejects.toMatchObject(refusal);
      await expect(pod.dial('loopback', PORTS.closed)).rejects.toMatchObject(refusal);
    },
  },
  {
    name: 'says NotFound of a pod that it does not have, and of one whose network is gone',
    unless: needsDial,
    run: async (provider, world) => {
      const nobody = world.sandbox(provider).pod.uid;
      for (const to of ['pod', 'loopback'] as const)
        await expect(dial(provider, nobody, { to, port: 80 }, world.options.signal)).rejects.toMatchObject({
          code: 'NotFound',
        });
      if (provider.kind !== 'container') return;
      const pod = await serving(provider, world);
      await provider.stopSandbox(pod.uid, world.options);
      for (const to of ['pod', 'loopback'] as const)
        await expect(pod.dial(to, PORTS.echo)).rejects.toMatchObject({ code: 'NotFound' });
    },
  },
  {
    name: 'hands the end of the input to the target, and what it answers then to the caller',
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      for (const to of ['pod', 'loopback'] as const) {
        const stream = await pod.dial(to, PORTS.count);
        stream.write(Buffer.alloc(100_000));
        expect((await echoed(stream, 'and five')).trim()).toBe('100008');
      }
    },
  },
  {
    name: "goes on taking input after the end of the target's output",
    unless: needsBothHalves,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      const stream = await pod.dial('loopback', PORTS.hello);
      expect((await read(stream)).trim()).toBe('hello');
      expect(stream.writable).toBe(true);
      await new Promise<void>((resolve, reject) => {
        stream.once('error', reject);
        stream.write('afterwards', () => stream.end(resolve));
      });
    },
  },
  {
    name: 'loses nothing of what the target says first',
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      const streams = await Promise.all(Array.from({ length: 10 }, () => pod.dial('loopback', PORTS.banner)));
      // It has come long before anybody reads.
      await world.harness.pass(200);
      for (const stream of streams) {
        expect((await read(stream)).trim()).toBe('banner');
        stream.destroy();
      }
    },
  },
  {
    name: 'keeps many connections at once apart',
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      const open = new Map<string, { readonly stream: Duplex; readonly answer: Promise<string> }>();
      const names = Array.from({ length: world.harness.manyConnections }, (_, i) => `connection ${i} `);
      // A small server: it has a backlog of two.
      await mapLimit(names, 3, async (name) => {
        const stream = await pod.dial('loopback', PORTS.echo);
        const answer = read(stream);
        const first = new Promise<void>((resolve, reject) => {
          stream.once('data', () => resolve());
          stream.once('error', reject);
        });
        stream.write(name);
        await first;
        open.set(name, { stream, answer });
      });
      expect(open.size).toBe(names.length);
      for (const [name, { stream }] of open) stream.end(name.repeat(1_000));
      for (const [name, { answer }] of open) expect(await answer).toBe(name.repeat(1_001));
    },
  },
  {
    name: 'destroys a connection when its signal fires, and makes none when it has',
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      for (const to of ['pod', 'loopback'] as const) {
        const abort = new AbortController();
        const stream = await pod.dial(to, PORTS.deaf, abort.signal);
        abort.abort();
        await world.eventually('the stream to be destroyed', async () => stream.closed, Boolean);
        await expect(pod.dial(to, PORTS.echo, abort.signal)).rejects.toMatchObject({ name: 'AbortError' });
      }
      expect(await echoed(await pod.dial('loopback', PORTS.echo), 'others go on')).toBe('others go on');
    },
  },
  {
    name: 'says what it cannot reach outside of the pod',
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      const toName: DialTarget = { to: 'host', host: 'no-such-host.invalid', port: 80 };
      await expect(dial(provider, pod.uid, toName, world.options.signal)).rejects.toMatchObject({
        code: 'Unreachable',
        message: expect.stringMatching(/^lookup no-such-host\.invalid: /),
      });
    },
  },
  {
    name: 'reaches a host beside the pod',
    unless: needsDial,
    run: async (provider, world) => {
      const [pod, other] = [await serving(provider, world), await serving(provider, world)];
      const { ips } = await world.pod(provider, other.uid);
      const target: DialTarget = { to: 'host', host: ips[0] ?? '', port: PORTS.echo };
      const stream = await dial(provider, pod.uid, target, world.options.signal);
      expect(await echoed(stream, 'next door')).toBe('next door');
    },
  },
  {
    name: 'holds a writer back whom the target does not read',
    unless: needsDial,
    run: async (provider, world) => {
      const pod = await serving(provider, world);
      const chunk = Buffer.alloc(64 * 1024);
      for (const to of ['pod', 'loopback'] as const) {
        const stream = await pod.dial(to, PORTS.deaf);
        let taken = 0;
        let full = false;
        const pour = (): void => {
          while (!full && taken < 256 * 1024 * 1024) {
            full = !stream.write(chunk);
            taken += chunk.length;
          }
        };
        stream.on('drain', () => {
          full = false;
          pour();
        });
        pour();
        await world.harness.pass(1_000);
        // Buffers of kernels and engines on the way, and not a hundred megabytes of ours.
        expect(full).toBe(true);
        expect(taken).toBeLessThan(32 * 1024 * 1024);
        stream.destroy();
      }
    },
  },
];
