import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ProviderError } from '../contract/index.ts';
import { dialError } from './dial-errors.ts';
import { reachByTcp } from './dial-tcp.ts';

describe('what a failed connect means', () => {
  const errno = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code });

  // net.OpError of Go prints the system's words for the errno; src/syscall/zerrors_linux_amd64.go.
  it.each([
    ['ECONNREFUSED', 'ConnectionRefused', 'connect: connection refused'],
    ['ECONNRESET', 'ConnectionRefused', 'connect: connection reset by peer'],
    ['EHOSTUNREACH', 'Unreachable', 'connect: no route to host'],
    ['ENETUNREACH', 'Unreachable', 'connect: network is unreachable'],
    ['ETIMEDOUT', 'Unreachable', 'connect: connection timed out'],
    ['ENOTFOUND', 'Unreachable', 'lookup x.example: no such host'],
    ['EAI_AGAIN', 'Unreachable', 'lookup x.example: server misbehaving'],
    ['EMFILE', 'Internal', 'connect EMFILE'],
  ])('%s is %s: %s', (code, expected, message) => {
    expect(dialError(errno(code), 'x.example')).toMatchObject({ code: expected, message });
  });

  it('is left as it is when it is known already', () => {
    const error = new ProviderError('NotFound', 'x');
    expect(dialError(error, 'h')).toBe(error);
  });
});

describe('a connection from this process', () => {
  let server: Server | undefined;
  const accepted: Socket[] = [];
  afterEach(() => {
    for (const socket of accepted.splice(0)) socket.destroy();
    server?.close();
  });

  async function listening(onConnection: (socket: Socket) => void): Promise<number> {
    server = createServer({ allowHalfOpen: true }, (socket) => {
      accepted.push(socket);
      socket.on('error', () => {});
      onConnection(socket);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  it('goes on in one direction after the end of the other', async () => {
    const received: Buffer[] = [];
    const port = await listening((socket) => {
      socket.end('first');
      socket.on('data', (chunk) => received.push(chunk));
    });
    const stream = await reachByTcp('127.0.0.1', port, { signal: new AbortController().signal });
    expect(Buffer.concat(await stream.toArray()).toString()).toBe('first');
    await new Promise<void>((resolve) => stream.end('afterwards', resolve));
    await once(accepted[0] as Socket, 'end');
    expect(Buffer.concat(received).toString()).toBe('afterwards');
  });

  it('goes with its signal, and is not made when that has fired', async () => {
    const port = await listening(() => {});
    const abort = new AbortController();
    const stream = await reachByTcp('localhost', port, { signal: abort.signal });
    abort.abort();
    await new Promise<void>((resolve) => stream.once('close', resolve));
    await expect(reachByTcp('127.0.0.1', port, { signal: abort.signal })).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('survives a reset that nobody listens for', async () => {
    const port = await listening((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const stream = await reachByTcp('127.0.0.1', port, { signal: new AbortController().signal });
    stream.resume();
    stream.write('x');
    await new Promise<void>((resolve) => stream.once('close', resolve));
    expect(stream.errored).toMatchObject({ code: 'ECONNRESET' });
  });

  it('says that a port is closed', async () => {
    const port = await listening(() => {});
    await new Promise((resolve) => server?.close(resolve));
    const refusal = { code: 'ConnectionRefused', message: 'connect: connection refused' };
    await expect(reachByTcp('127.0.0.1', port, { signal: new AbortController().signal })).rejects.toMatchObject(
      refusal,
    );
  });
});
