import { type ClientRequest, createServer, get as httpGet, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ContainerRef,
  type LogFacet,
  type LogRecord,
  type LogRequest,
  ProviderError,
} from '../../../providers/contract/index.ts';
import type { Pod, PodStatus } from '../../model/pod.ts';
import { makeObservedContainer, makeObservedPod, makePod, POD_UID, running } from '../../testing/builders.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { type LogsDeps, logsRoutes } from './logs.ts';

const TIME = '2026-01-02T03:04:05Z';
const RUNNING: PodStatus = {
  containerStatuses: [
    {
      name: 'c',
      image: 'i',
      imageID: 'i',
      ready: true,
      restartCount: 1,
      containerID: 'docker://c-1',
      state: { running: { startedAt: TIME } },
      lastState: {
        terminated: { exitCode: 1, startedAt: TIME, finishedAt: TIME, containerID: 'docker://c-0' },
      },
    },
  ],
};
const PATH = '/containerLogs/ns/p/c';

function record(line: string, second = 5): LogRecord {
  return { time: `2026-01-02T03:04:0${second}Z`, stream: 'stdout', line: Buffer.from(line), partial: false };
}

/** A backend whose log is written by the test; a call ends when the test ends it, or with its signal. */
class Backend implements LogFacet {
  readonly calls: { ref: ContainerRef; request: LogRequest; signal: AbortSignal; returned: boolean }[] = [];
  readonly script: (request: LogRequest, signal: AbortSignal) => AsyncIterable<LogRecord>;

  constructor(script: Backend['script']) {
    this.script = script;
  }

  async *logs(ref: ContainerRef, request: LogRequest, { signal }: { signal: AbortSignal }): AsyncIterable<LogRecord> {
    const call = { ref, request, signal, returned: false };
    this.calls.push(call);
    try {
      yield* this.script(request, signal);
    } finally {
      call.returned = true;
    }
  }
}

async function* lines(...texts: string[]): AsyncIterable<LogRecord> {
  for (const text of texts) yield record(text);
}

async function* failing(): AsyncIterable<LogRecord> {
  yield record('one');
  throw new ProviderError('Unavailable', 'the engine went away');
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
  );
}

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function setup(overrides: Partial<LogsDeps> = {}, { withLogs = true } = {}) {
  const stop = new AbortController();
  const warnings: unknown[] = [];
  const app = express();
  app.use(
    logsRoutes({
      findPod: (namespace, name) => (namespace === 'ns' && name === 'p' ? makePod() : undefined),
      status: () => RUNNING,
      observed: {
        get: () => ({
          pod: makeObservedPod({
            containers: [makeObservedContainer('c', running(), { attempt: 1 }), makeObservedContainer('c', running())],
          }),
          at: 0,
        }),
      },
      ...(withLogs && { logs: new Backend(() => lines('line 1', 'line 2')) }),
      clock: new FakeClock(),
      log: { warn: (fields: unknown) => warnings.push(fields) },
      signal: stop.signal,
      ...overrides,
    }),
  );
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A TCP server's address is an object.
  const { port } = server.address() as AddressInfo;
  return { port, server, stop, warnings, get: (path: string) => fetchText(port, path) };
}

function open(port: number, path: string): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  return new Promise((resolve, reject) => {
    const request = httpGet({ host: '127.0.0.1', port, path, agent: false }, (response) =>
      resolve({ request, response }),
    );
    request.on('error', reject);
  });
}

async function fetchText(port: number, path: string) {
  const { response } = await open(port, path);
  let body = '';
  for await (const text of response.setEncoding('utf8')) body += text;
  return { code: response.statusCode, body, headers: response.headers };
}

function nextText(response: IncomingMessage): Promise<string> {
  return new Promise((resolve) => response.once('data', (data: Buffer) => resolve(data.toString())));
}

async function until(condition: () => boolean): Promise<void> {
  for (let i = 0; i < 500 && !condition(); i++) await new Promise((resolve) => setImmediate(resolve));
  expect(condition()).toBe(true);
}

describe('refusals', () => {
  it.each<[string, number, string]>([
    [`${PATH}?tailLines=x`, 400, '{"message": "Unable to decode query."}'],
    [`${PATH}?limitBytes=0`, 422, '{"message": "Invalid request."}'],
    ['/containerLogs/ns/none/c', 404, 'pod "none" does not exist'],
    ['/containerLogs/other/p/c', 404, 'pod "p" does not exist'],
    ['/containerLogs/ns/p/none', 404, 'container "none" not found in pod "p"'],
    [
      `${PATH}?stream=Stdout`,
      400,
      'unable to return the given log stream: "Stdout". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
    ],
  ])('%s is %i', async (path, code, body) => {
    const { get } = await setup();
    expect(await get(path)).toMatchObject({ code, body });
  });

  it('says why there is no instance', async () => {
    const { get } = await setup({ status: () => ({}) });
    expect(await get(PATH)).toMatchObject({ code: 400, body: 'container "c" in pod "p" is not available' });
  });

  it('is 501 where the backend keeps no logs', async () => {
    const { get } = await setup({}, { withLogs: false });
    expect(await get(PATH)).toMatchObject({ code: 501 });
  });
});

describe('which instance', () => {
  it('is the one that the status shows, by the id that the backend knows', async () => {
    const backend = new Backend(() => lines('x'));
    const { get } = await setup({ logs: backend });
    await get(PATH);
    await get(`${PATH}?previous=true`);
    expect(backend.calls.map(({ ref }) => ref)).toEqual([
      { podUid: POD_UID, container: 'c', attempt: 1 },
      { podUid: POD_UID, container: 'c', attempt: 0 },
    ]);
  });

  it('comes from the API object while no status has been computed', async () => {
    const backend = new Backend(() => lines('x'));
    const pod: Pod = makePod({ status: RUNNING });
    const { get } = await setup({
      logs: backend,
      findPod: () => pod,
      status: () => undefined,
      observed: { get: () => undefined },
    });
    expect(await get(PATH)).toMatchObject({ code: 200, body: 'x\n' });
    expect(backend.calls[0]?.ref.attempt).toBe(1);
  });

  // Oracle 004: kubectl succeeds and prints this.
  it('is told to be gone inside a 200 answer', async () => {
    const body = 'unable to retrieve container logs for docker://c-1';
    const gone = await setup({ observed: { get: () => ({ pod: makeObservedPod(), at: 0 }) } });
    expect(await gone.get(PATH)).toMatchObject({ code: 200, body });
    const nothing = await setup({ observed: { get: () => ({ pod: undefined, at: 0 }) } });
    expect(await nothing.get(PATH)).toMatchObject({ code: 200, body });
    const removed = await setup({
      logs: new Backend(() => {
        throw new ProviderError('NotFound', 'no such container');
      }),
    });
    expect(await removed.get(PATH)).toMatchObject({ code: 200, body });
  });
});

describe('the stream', () => {
  it('has no content type of ours and comes in chunks', async () => {
    const { get } = await setup();
    const { body, headers } = await get(PATH);
    expect(body).toBe('line 1\nline 2\n');
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(headers['content-type']).toBeUndefined();
  });

  it.each<[string, AsyncIterable<LogRecord>]>([
    ['lines', lines('line 1')],
    ['a failure', failing()],
  ])('after %s ends by a write of its own: the API server loses what it reads with the end', async (_what, log) => {
    const { server } = await setup({ logs: new Backend(() => log) });
    const writes: string[] = [];
    const take = (...chunks: Buffer[]): void => void writes.push(Buffer.concat(chunks).toString('latin1'));
    const socket = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        take(chunk);
        done();
      },
      writev: (chunks, done) => {
        take(...chunks.map(({ chunk }: { chunk: Buffer }) => chunk));
        done();
      },
    });
    server.emit('connection', socket);
    socket.push(`GET ${PATH} HTTP/1.1\r\nHost: node\r\n\r\n`);
    await until(() => writes.some((text) => text.endsWith('0\r\n\r\n')));
    expect(writes.at(-1)).toBe('0\r\n\r\n');
    socket.destroy();
  });

  it('asks the provider for the tail, and for since only without one', async () => {
    const backend = new Backend(() => lines('x'));
    const { get } = await setup({ logs: backend });
    await get(`${PATH}?tailLines=5&sinceTime=2026-01-02T03:04:05Z`);
    await get(`${PATH}?sinceTime=2026-01-02T03:04:05Z&follow=true`);
    expect(backend.calls.map(({ request }) => request)).toEqual([
      { follow: false, tailLines: 5 },
      { follow: true, since: new Date('2026-01-02T03:04:04Z') },
    ]);
  });

  it('is empty for tailLines=0, without asking', async () => {
    const backend = new Backend(() => lines('x'));
    const { get } = await setup({ logs: backend });
    expect(await get(`${PATH}?tailLines=0`)).toMatchObject({ code: 200, body: '' });
    expect(backend.calls).toEqual([]);
  });

  it('stops the provider at limitBytes', async () => {
    const backend = new Backend(async function* (_request, signal) {
      yield record('line 1');
      yield record('line 2');
      await aborted(signal);
    });
    const { get } = await setup({ logs: backend });
    expect(await get(`${PATH}?follow=true&limitBytes=9`)).toMatchObject({ body: 'line 1\nli' });
    expect(backend.calls[0]).toMatchObject({ returned: true, signal: { aborted: true } });
  });

  it('sends the headers before the first line, each line at once, and ends with the container', async () => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const backend = new Backend(async function* () {
      await first.promise;
      yield record('one');
      await second.promise;
      yield record('two');
    });
    const { port } = await setup({ logs: backend });
    const { response } = await open(port, `${PATH}?follow=true`);
    expect(response.statusCode).toBe(200);
    const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]();
    first.resolve();
    expect(await chunks.next()).toEqual({ done: false, value: 'one\n' });
    second.resolve();
    expect(await chunks.next()).toEqual({ done: false, value: 'two\n' });
    expect(await chunks.next()).toMatchObject({ done: true });
  });

  it('lets go of the provider when the client is gone', async () => {
    const backend = new Backend(async function* (_request, signal) {
      yield record('one');
      await aborted(signal);
    });
    const { port, warnings } = await setup({ logs: backend });
    const { request, response } = await open(port, `${PATH}?follow=true`);
    await nextText(response);
    request.destroy();
    await until(() => backend.calls[0]?.returned === true);
    expect(warnings).toEqual([]);
  });

  it('lets go of a provider that writes faster than the client reads, when the client is gone', async () => {
    const big = 'x'.repeat(100_000);
    let yielded = 0;
    const backend = new Backend(async function* () {
      for (;;) {
        yielded += 1;
        yield record(big);
      }
    });
    const { port } = await setup({ logs: backend });
    const { request, response } = await open(port, PATH);
    response.pause();
    // Stands still once the buffers are full: nothing is piled up here.
    let [last, quietRounds] = [0, 0];
    while (quietRounds < 300) {
      quietRounds = last === yielded && yielded > 0 ? quietRounds + 1 : 0;
      last = yielded;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(yielded).toBeLessThan(1_000);
    request.destroy();
    await until(() => backend.calls[0]?.returned === true);
  });

  it('ends with the server', async () => {
    const backend = new Backend(async function* (_request, signal) {
      yield record('one');
      await aborted(signal);
    });
    const { port, stop } = await setup({ logs: backend });
    const { response } = await open(port, `${PATH}?follow=true`);
    const ended = new Promise((resolve) => response.once('end', resolve));
    await nextText(response);
    stop.abort();
    await ended;
    expect(backend.calls[0]?.returned).toBe(true);
  });

  it('carries a later failure as text at its end', async () => {
    const backend = new Backend(async function* () {
      yield record('one');
      throw new ProviderError('Unavailable', 'the engine went away');
    });
    const { get, warnings } = await setup({ logs: backend });
    expect(await get(PATH)).toMatchObject({ code: 200, body: 'one\nthe engine went away' });
    expect(warnings).toHaveLength(1);
  });
});
