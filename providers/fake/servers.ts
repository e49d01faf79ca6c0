import { performServerHandshake, type ServerHttp2Stream } from 'node:http2';
import { type Duplex, duplexPair } from 'node:stream';
import type { CallOptions, DialTarget, ProviderContext } from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import type { FakeServer } from './schema.ts';

/** Both ends of a connection, and what a server does at one of them. Nothing is listened on: the other end is handed to the dialler. */

const HEAD_END = '\r\n\r\n';
const MAX_HEAD = 64 * 1024;

export interface ConnectOptions extends CallOptions {
  readonly clock: ProviderContext['clock'];
  /** Aborts when the container goes: its connections are reset. */
  readonly ended: AbortSignal;
}

/** Whether a server takes what is dialled so. */
export function takes(server: FakeServer, target: DialTarget): boolean {
  return server.port === target.port && (server.on === 'all' || target.to === 'loopback');
}

export function refused(): ProviderError {
  return new ProviderError('ConnectionRefused', 'connect: connection refused');
}

export async function connect(server: FakeServer, options: ConnectOptions): Promise<Duplex> {
  const { signal, ended, clock } = options;
  if (server.does === 'refuse') throw refused();
  if (server.does === 'drop') await aborted(signal);
  const [near, far] = duplexPair();
  const onAbort = (): void => {
    near.destroy(signal.reason instanceof Error ? signal.reason : undefined);
  };
  const onEnd = (): void => {
    near.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
  };
  near.on('error', () => {});
  far.on('error', () => {});
  near.once('close', () => {
    signal.removeEventListener('abort', onAbort);
    ended.removeEventListener('abort', onEnd);
    far.destroy();
  });
  far.once('close', () => {
    if (!near.readableEnded && server.does === 'reset') onEnd();
  });
  signal.addEventListener('abort', onAbort, { once: true });
  ended.addEventListener('abort', onEnd, { once: true });
  if (signal.aborted) onAbort();
  // Not awaited: it goes on beside the dialler for as long as the connection does; a failure is the connection's.
  void serve(server, far, { clock, signal: ended }).catch(() => far.destroy());
  return near;
}

async function serve(
  server: FakeServer,
  stream: Duplex,
  { clock, signal }: { readonly clock: ProviderContext['clock']; readonly signal: AbortSignal },
): Promise<void> {
  if (server.banner !== undefined) stream.write(server.banner);
  const pause = async (): Promise<void> => {
    if (server.delayMs !== undefined && server.delayMs > 0) await clock.sleep(server.delayMs, { signal });
  };
  switch (server.does) {
    case 'echo':
      stream.pipe(stream);
      return;
    case 'count': {
      let bytes = 0;
      for await (const chunk of stream.iterator({ destroyOnReturn: false })) bytes += (chunk as Buffer).length;
      await pause();
      stream.end(`${bytes}\n`);
      return;
    }
    case 'hello':
      stream.end();
      stream.resume();
      return;
    case 'silent':
    case 'refuse':
    case 'drop':
      return;
    case 'reset':
      await pause();
      stream.destroy();
      return;
    case 'http':
      await readHead(stream);
      await pause();
      stream.end(httpAnswer(server));
      return;
    case 'grpc':
      serveHealth(server, stream, pause);
  }
}

/** The request's body is not waited for: what a server answers here depends on nothing. */
async function readHead(stream: Duplex): Promise<void> {
  let head = '';
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    head += (chunk as Buffer).toString('latin1');
    if (head.includes(HEAD_END) || head.length > MAX_HEAD) break;
  }
  stream.resume();
}

function httpAnswer({ status, body, headers }: FakeServer): string {
  const all = { 'Content-Length': String(Buffer.byteLength(body)), Connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${status < 400 ? 'OK' : 'Fake'}\r\n${lines.join('')}\r\n${body}`;
}

/** grpc.health.v1.Health/Check: SERVING (1) or NOT_SERVING (2), or a gRPC status in its place. */
function serveHealth(server: FakeServer, stream: Duplex, pause: () => Promise<void>): void {
  const session = performServerHandshake(stream);
  session.on('error', () => stream.destroy());
  session.on('stream', (call: ServerHttp2Stream) => {
    call.on('error', () => {});
    call.resume();
    call.once('end', () => {
      void pause().then(
        () => answerHealth(server, call),
        () => call.destroy(),
      );
    });
  });
}

function answerHealth({ serving, grpcStatus }: FakeServer, call: ServerHttp2Stream): void {
  if (call.destroyed) return;
  const headers = { ':status': 200, 'content-type': 'application/grpc' };
  if (grpcStatus !== 0) {
    call.respond({ ...headers, 'grpc-status': String(grpcStatus) }, { endStream: true });
    return;
  }
  call.respond(headers, { waitForTrailers: true });
  call.once('wantTrailers', () => call.sendTrailers({ 'grpc-status': '0' }));
  call.end(Buffer.from([0, 0, 0, 0, 2, 0x08, serving ? 1 : 2]));
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
