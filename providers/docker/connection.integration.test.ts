import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { ProviderHint } from '../contract/index.ts';
import { EngineNode, refOf } from './testing/engine-node.ts';

/** Something in front of the engine's socket that can be made to fail. */
class Gate {
  readonly path: string;
  silent = false;
  readonly #dir = mkdtempSync(join(tmpdir(), 'outrigger-gate-'));
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(target: string) {
    this.path = join(this.#dir, 'engine.sock');
    this.#server = createServer((client) => {
      this.#keep(client);
      if (this.silent) return;
      const engine = connect(target);
      this.#keep(engine);
      client.pipe(engine).pipe(client);
      const end = (): void => {
        client.destroy();
        engine.destroy();
      };
      client.on('close', end).on('error', end);
      engine.on('close', end).on('error', end);
    });
  }

  open(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(this.path, resolve));
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

describe('the way to an engine', () => {
  let node: EngineNode;
  let gate: Gate;
  beforeEach(async () => {
    node = new EngineNode(inject('testBed').socket);
    gate = new Gate(node.socket);
    await gate.open();
  });
  afterEach(async () => {
    await gate.close();
    await node.dispose();
  });

  it('that does not exist makes listing fail, not come out empty', async () => {
    const provider = await node.open({ socketPath: '/no/such/engine.sock' });
    await expect(provider.list(node.options)).rejects.toMatchObject({ code: 'Unavailable' });
    await expect(provider.describeHost(node.options)).rejects.toMatchObject({ code: 'Unavailable' });
    const refused = await node.open({ socketPath: undefined, host: '127.0.0.1', port: 1 });
    await expect(refused.list(node.options)).rejects.toMatchObject({ code: 'Unavailable' });
  });

  it('that hangs counts as no answer after the deadline, and gives way to an abort at once', async () => {
    gate.silent = true;
    const provider = await node.open({ socketPath: gate.path, requestTimeoutSeconds: 0.3 });
    await expect(provider.list(node.options)).rejects.toMatchObject({
      code: 'Unavailable',
      message: 'the engine did not answer within 0.3 s when asked to list containers',
    });
    const patient = await node.open({ socketPath: gate.path });
    const caller = new AbortController();
    const listing = patient.list({ signal: caller.signal });
    caller.abort();
    await expect(listing).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('that breaks ends watch and logs with an error; all is well when it is back', async () => {
    const provider = await node.open({ socketPath: gate.path });
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    const spec = node.shell('echo up; sleep 3600');
    await provider.startContainer(pod, spec, node.options);
    const cutWhenOpen = async (items: AsyncIterable<unknown> | undefined): Promise<void> => {
      for await (const _ of items ?? []) gate.cut();
    };
    await expect(cutWhenOpen(provider.watch?.(node.options))).rejects.toMatchObject({ code: 'Unavailable' });
    const logs = provider.logs?.logs(refOf(pod, spec), { follow: true }, node.options);
    await expect(cutWhenOpen(logs)).rejects.toMatchObject({ code: 'Unavailable' });
    expect((await provider.list(node.options))[0]?.containers[0]?.state.status).toBe('running');
  });

  it('tells of changes that others make, and what was cached is looked at again', async () => {
    const provider = await node.open();
    const stop = new AbortController();
    const hints: ProviderHint[] = [];
    const watching = (async () => {
      for await (const hint of provider.watch?.({ signal: stop.signal }) ?? []) hints.push(hint);
    })();
    const ended = expect(watching).rejects.toMatchObject({ name: 'AbortError' });
    await expect.poll(() => hints).toEqual([{ type: 'resync' }]);
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    const spec = node.shell('sleep 3600');
    await provider.startContainer(pod, spec, node.options);
    const ref = refOf(pod, spec);
    const first = await node.until(provider, ref, (container) => container?.state.status === 'running');
    await provider.list(node.options);
    hints.length = 0;
    await node.docker.getContainer(first?.id ?? '').restart({ t: 0 });
    await expect.poll(() => hints).toContainEqual({ type: 'pod', uid: pod.pod.uid });
    const again = await node.until(provider, ref, ({ state } = { state: { status: 'created' } } as never) => {
      return state.status === 'running' && first?.state.status === 'running' && state.startedAt > first.state.startedAt;
    });
    expect(again?.id).toBe(first?.id);
    stop.abort();
    await ended;
  });
});
