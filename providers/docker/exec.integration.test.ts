import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../src/util/clock.ts';
import type { ContainerProvider, ContainerRef, ExecRequest, ExecSession, SandboxSpec } from '../contract/index.ts';
import { EngineNode, refOf } from './testing/engine-node.ts';

let node: EngineNode;
let provider: ContainerProvider;
let sandbox: SandboxSpec;
let ref: ContainerRef;

beforeAll(async () => {
  node = new EngineNode(inject('testBed').socket);
  provider = await node.open();
  sandbox = node.sandbox();
  await provider.ensureSandbox(sandbox, node.options);
  const spec = node.shell('exec sleep 3600');
  await provider.startContainer(sandbox, spec, node.options);
  ref = refOf(sandbox, spec);
});

afterAll(() => node.dispose());

function sh(script: string, request: Partial<ExecRequest> = {}, signal = node.options.signal, from = provider) {
  return open(from, { command: ['sh', '-c', script], tty: false, stdin: false, ...request }, signal);
}

async function open(from: ContainerProvider, request: ExecRequest, signal: AbortSignal): Promise<ExecSession> {
  const session = await from.exec?.exec(ref, request, { signal });
  if (session === undefined) throw new Error('no exec facet');
  return session;
}

async function textOf(session: ExecSession): Promise<string> {
  session.stderr?.resume();
  let text = '';
  for await (const chunk of session.stdout) text += String(chunk);
  return text;
}

async function firstChunk(stream: Readable): Promise<string> {
  const [chunk] = await once(stream, 'data');
  return String(chunk);
}

/** Processes of the container whose command line has the word. */
async function processes(word: string): Promise<number> {
  const { exit: _, ...session } = await sh(`ps -o args | grep -c '[${word.slice(0, 1)}]${word.slice(1)}'`);
  return Number(await textOf({ ...session, exit: _ }));
}

async function eventually(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (await holds()) return;
    await systemClock.sleep(50, node.options);
  }
  throw new Error(`${what}: not within 5 s`);
}

describe('an aborted command', () => {
  it('is killed when that was asked for', async () => {
    const abort = new AbortController();
    const session = await sh('echo begun; exec sleep 1111', { killOnAbort: true }, abort.signal);
    expect(await firstChunk(session.stdout)).toBe('begun\n');
    expect(await processes('sleep 1111')).toBe(1);
    abort.abort();
    expect(await session.exit).toMatchObject({ type: 'failed' });
    await eventually('the end of the process', async () => (await processes('sleep 1111')) === 0);
  });

  it('is killed even when it was only being started', async () => {
    const abort = new AbortController();
    const starting = sh('exec sleep 2222', { killOnAbort: true }, abort.signal);
    // After the creation and before the answer to the start.
    setTimeout(() => abort.abort(), 25);
    await starting.then(
      (session) => session.exit,
      (error: unknown) => expect(error).toMatchObject({ name: 'AbortError' }),
    );
    await systemClock.sleep(500, node.options);
    await eventually('the end of the process', async () => (await processes('sleep 2222')) === 0);
  });

  it('lives on otherwise', async () => {
    const abort = new AbortController();
    const session = await sh('echo begun; exec sleep 3333', {}, abort.signal);
    expect(await firstChunk(session.stdout)).toBe('begun\n');
    abort.abort();
    await session.exit;
    await systemClock.sleep(500, node.options);
    expect(await processes('sleep 3333')).toBe(1);
    await textOf(await sh('pkill -f "sleep 3333"'));
  });
});

describe('what is no failure', () => {
  it('is a command that closes its outputs and goes on', async () => {
    const session = await sh('exec >&- 2>&-; sleep 1; exit 3');
    expect(await textOf(session)).toBe('');
    expect(await session.exit).toEqual({ type: 'exited', code: 3 });
  });

  it('is a short output that ends as the engine ends its own words', async () => {
    const words = 'OCI runtime exec failed: not really: unknown';
    const session = await sh(`printf '${words}\\r\\n'; sleep 1; exit 126`);
    const began = performance.now();
    expect(await firstChunk(session.stdout)).toBe(`${words}\r\n`);
    expect(performance.now() - began).toBeLessThan(900);
    await textOf(session);
    expect(await session.exit).toEqual({ type: 'exited', code: 126 });
  });

  it('is input that nobody wants, fifty times over, without loss of output', async () => {
    const line = Buffer.alloc(64 * 1024, 'y\n');
    for (let round = 0; round < 50; round++) {
      const session = await open(
        provider,
        { command: ['head', '-c', '10'], tty: false, stdin: true },
        node.options.signal,
      );
      const { stdin } = session;
      const feed = (): void => {
        while (stdin?.writable === true && stdin.write(line));
      };
      stdin?.on('drain', feed);
      feed();
      expect([round, await textOf(session), await session.exit]).toEqual([
        round,
        'y\ny\ny\ny\ny\n',
        { type: 'exited', code: 0 },
      ]);
    }
  });

  it('is a key that the engine would take for a farewell', async () => {
    const script = 'stty raw -echo; head -c 3 | hexdump -v -e \'1/1 "%02x "\'';
    const session = await sh(script, { tty: true, stdin: true });
    await systemClock.sleep(500, node.options);
    session.stdin?.write('\u0010\u0011!');
    expect(await textOf(session)).toContain('10 11 21');
  });
});

const MEGABYTES = 200;

describe(`${MEGABYTES} MB`, () => {
  it('come out of a command in flat memory', async () => {
    const session = await sh(`head -c ${MEGABYTES}000000 /dev/zero`);
    session.stderr?.resume();
    const memory = new Memory();
    let size = 0;
    for await (const chunk of session.stdout) {
      size += chunk.length;
      memory.look(size / 1e6);
    }
    expect(size).toBe(MEGABYTES * 1e6);
    expect(memory.growth).toBeLessThan(30e6);
    expect(await session.exit).toEqual({ type: 'exited', code: 0 });
  });

  it('go into a command in flat memory', async () => {
    const session = await sh('sha256sum', { stdin: true });
    const block = randomBytes(1e6);
    const hash = createHash('sha256');
    const memory = new Memory();
    for (let sent = 0; sent < MEGABYTES; sent++) {
      hash.update(block);
      if (session.stdin?.write(block) === false) await once(session.stdin, 'drain');
      memory.look(sent);
    }
    session.stdin?.end();
    expect((await textOf(session)).split(' ')[0]).toBe(hash.digest('hex'));
    expect(memory.growth).toBeLessThan(30e6);
  });

  it('wait in the command while nobody reads them', async () => {
    const abort = new AbortController();
    const session = await sh(`head -c ${MEGABYTES}000000 /dev/zero`, {}, abort.signal);
    await systemClock.sleep(1000, node.options);
    expect(session.stdout.readableLength).toBeLessThan(1e6);
    abort.abort();
    await session.exit;
  });
});

/** Garbage makes the first half grow, up to what the collector allows; more must not come after it. */
class Memory {
  #first = 0;
  #second = 0;

  look(megabytes: number): void {
    const rss = process.memoryUsage.rss();
    if (megabytes < MEGABYTES / 2) this.#first = Math.max(this.#first, rss);
    else this.#second = Math.max(this.#second, rss);
  }

  get growth(): number {
    return this.#second - this.#first;
  }
}

describe('what is left', () => {
  it('is no connection, whatever became of the commands', async () => {
    const mine = await node.open();
    const before = connections();
    const abort = new AbortController();
    for (let round = 0; round < 10; round++) {
      await textOf(await sh('echo done', {}, node.options.signal, mine));
      await expect(
        mine.exec?.exec({ ...ref, container: 'nobody' }, { command: ['true'], tty: false, stdin: true }, node.options),
      ).rejects.toMatchObject({ code: 'NotFound' });
      const broken = { command: ['/no/such'], tty: false, stdin: true };
      await textOf(await open(mine, broken, node.options.signal));
      const hanging = await sh('sleep 4444', { stdin: true, killOnAbort: true }, abort.signal, mine);
      hanging.stdout.resume();
    }
    abort.abort();
    await eventually('the end of the processes', async () => (await processes('sleep 4444')) === 0);
    // What waits for the next call is no leak.
    await eventually('the end of the connections', () => connections() <= before + 8);
  });

  it('is nothing open when the provider is closed', async () => {
    const mine = await node.open();
    const session = await sh('exec sleep 5555', { stdin: true, killOnAbort: true }, node.options.signal, mine);
    await mine.close();
    expect(await session.exit).toMatchObject({ type: 'failed' });
    expect(session.stdout.destroyed).toBe(true);
  });
});

function connections(): number {
  return process.getActiveResourcesInfo().filter((type) => type === 'PipeWrap').length;
}

describe('an engine that goes away', () => {
  it('ends what runs as failed', async () => {
    const way = await Way.open(node.socket);
    const mine = await node.open({ socketPath: way.path });
    const session = await sh('echo begun; exec sleep 6666', { stdin: true }, node.options.signal, mine);
    expect(await firstChunk(session.stdout)).toBe('begun\n');
    session.stderr?.resume();
    await way.close();
    expect(await session.exit).toMatchObject({ type: 'failed', error: { code: 'Unavailable' } });
    expect(session.stdout.destroyed).toBe(true);
    const again = sh('true', {}, node.options.signal, mine);
    await expect(again).rejects.toMatchObject({ code: 'Unavailable' });
  });
});

/** A way to the engine that can be cut. */
class Way {
  readonly path: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(path: string, to: string) {
    this.path = path;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      const other = connectTo({ path: to, allowHalfOpen: true });
      for (const each of [socket, other]) {
        this.#sockets.add(each);
        each.on('error', () => {});
        each.on('close', () => this.#sockets.delete(each));
      }
      socket.pipe(other).pipe(socket);
    });
  }

  static async open(to: string): Promise<Way> {
    const way = new Way(join(tmpdir(), `outrigger-way-${randomBytes(4).toString('hex')}.sock`), to);
    way.#server.listen(way.path);
    await once(way.#server, 'listening');
    return way;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

describe('an attached terminal', () => {
  it('types into the container and keeps its log readable', async () => {
    const spec = node.shell('read line; echo "got $line"; stty size; sleep 0.2; exit 5', {
      name: 'typist',
      terminal: { tty: true, stdin: true, stdinOnce: true },
    });
    await provider.startContainer(sandbox, spec, node.options);
    const session = await provider.attach?.attach(refOf(sandbox, spec), { tty: true, stdin: true }, node.options);
    if (session === undefined) throw new Error('no attach facet');
    session.resize({ columns: 77, rows: 33 });
    await systemClock.sleep(200, node.options);
    session.stdin?.write('hello\r');
    const text = await textOf(session);
    expect(text).toContain('got hello\r\n33 77\r\n');
    expect(await session.exit).toEqual({ type: 'exited', code: 5 });
    expect(await node.output(provider, refOf(sandbox, spec))).toBe('hello\r\ngot hello\r\n33 77\r\n');
  });
});
