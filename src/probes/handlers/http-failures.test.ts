import { describe, expect, it } from 'vitest';
import { type DialFacet, ProviderError } from '../../../providers/contract/index.ts';
import { accept, ask, failed, prober, say, serve, servers } from '../testing/http-servers.ts';
import { LoopbackDial } from '../testing/loopback.ts';

describe('no answer, in the words of Go', () => {
  it('refused', async () => {
    const port = await serve(() => undefined);
    await new Promise((resolve) => servers.pop()?.close(resolve));
    expect(await ask({ port, path: '/x' })).toEqual(
      failed(`Get "http://10.1.2.3:${port}/x": dial tcp 10.1.2.3:${port}: connect: connection refused`),
    );
  });

  it('no route, no such pod', async () => {
    for (const error of [
      new ProviderError('Unreachable', 'connect: no route to host'),
      new ProviderError('NotFound', 'no such pod'),
    ]) {
      const dial: DialFacet = { dial: () => Promise.reject(error) };
      expect(await prober(dial).ask({ port: 80, path: '/' })).toEqual(
        failed(`Get "http://10.1.2.3:80/": dial tcp 10.1.2.3:80: ${error.message}`),
      );
    }
  });

  it('a provider that cannot dial there blames nobody', async () => {
    const error = new ProviderError('Unsupported', 'no way to other hosts');
    const dial: DialFacet = { dial: () => Promise.reject(error) };
    expect(await prober(dial).ask({ port: 80, path: '/', host: 'other' })).toEqual({
      type: 'errored',
      state: 'unknown',
      message: 'no way to other hosts',
    });
  });

  it('a backend that is away says nothing about the pod', async () => {
    const error = new ProviderError('Unavailable', 'gone');
    const dial: DialFacet = { dial: () => Promise.reject(error) };
    expect(await prober(dial).ask({ port: 80, path: '/' })).toEqual({ type: 'away', error });
  });

  it.each([
    ['before the answer', ''],
    ['in the body', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'],
  ])('a backend that breaks off %s, too', async (_, said) => {
    const error = new ProviderError('Unavailable', 'tunnel closed');
    const port = await accept((socket) => socket.once('data', () => socket.write(said)));
    const dial = new LoopbackDial();
    const broken: DialFacet = {
      dial: async (...args) => {
        const stream = await dial.dial(...args);
        if (said === '') setImmediate(() => stream.destroy(error));
        else stream.once('data', () => setImmediate(() => stream.destroy(error)));
        return stream;
      },
    };
    expect(await prober(broken).ask({ port, path: '/' })).toEqual({ type: 'away', error });
  });

  it('a silent server', async () => {
    const connected = Promise.withResolvers<void>();
    const port = await accept(() => connected.resolve());
    const dial = new LoopbackDial();
    const { ask: begin, clock } = prober(dial);
    const asked = begin({ port, path: '/slow' });
    await connected.promise;
    await clock.advance(1_000);
    expect(await asked).toEqual(
      failed(
        `Get "http://10.1.2.3:${port}/slow": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
      ),
    );
    expect(dial.allDestroyed).toBe(true);
  });

  it('a provider that neither connects nor hears of the end', async () => {
    const late = Promise.withResolvers<never>();
    const { ask: begin, clock } = prober({ dial: () => late.promise });
    const asked = begin({ port: 80, path: '/' });
    await clock.advance(1_000);
    expect(await asked).toEqual(
      failed('Get "http://10.1.2.3:80/": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'),
    );
  });

  it('a connection that comes too late is closed', async () => {
    const port = await accept(() => undefined);
    const dial = new LoopbackDial();
    const late = Promise.withResolvers<void>();
    const slow: DialFacet = {
      dial: async (uid, target) => {
        await late.promise;
        return await dial.dial(uid, target, { signal: new AbortController().signal });
      },
    };
    const { ask: begin, clock } = prober(slow);
    const asked = begin({ port, path: '/' });
    await clock.advance(1_000);
    await asked;
    late.resolve();
    await expect.poll(() => dial.streams.length === 1 && dial.allDestroyed).toBe(true);
  });

  it('a server that hangs up', async () => {
    const port = await accept((socket) => socket.once('data', () => socket.end()));
    expect(await ask({ port, path: '/' })).toEqual(failed(`Get "http://10.1.2.3:${port}/": EOF`));
  });

  it('a server that resets', async () => {
    const port = await accept((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await ask({ port, path: '/' })).toEqual(
      failed(`Get "http://10.1.2.3:${port}/": read tcp 10.1.2.3:${port}: read: connection reset by peer`),
    );
  });

  it('a server that speaks something else', async () => {
    const port = await say('SSH-2.0-OpenSSH_9.6\r\n');
    expect(await ask({ port, path: '/' })).toEqual(
      failed(
        `Get "http://10.1.2.3:${port}/": net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-OpenSSH_9.6"`,
      ),
    );
  });
});

describe('a server that sends too much', () => {
  it('headers without end are a failure, and little of them is read', async () => {
    let sent = 0;
    const port = await accept((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const line = `X-A: ${'a'.repeat(1000)}\r\n`.repeat(64);
      const pump = (): void => {
        while (!socket.destroyed && socket.write(line)) sent += line.length;
      };
      socket.on('drain', pump);
      pump();
    });
    const { type, output } = (await ask({ port, path: '/' })) as { type: string; output: string };
    expect([type, output]).toEqual([
      'failure',
      `Get "http://10.1.2.3:${port}/": net/http: server response headers exceeded 1048576 bytes; aborted`,
    ]);
    expect(sent).toBeLessThan(32 * 2 ** 20);
  });

  it('a body without end is read to 10 KiB, and the status counts', async () => {
    const port = await serve((_, response) => {
      response.writeHead(302, { location: 'http://elsewhere/' });
      const pump = (): void => {
        while (!response.destroyed && response.write('b'.repeat(4096)));
      };
      response.on('drain', pump);
      pump();
    });
    const attempt = await ask({ port, path: '/' });
    expect(attempt).toEqual({
      type: 'warning',
      output: `Probe terminated redirects, Response body: ${'b'.repeat(10 * 1024)}`,
    });
  });

  it('a body that stops in the middle is an error which the kubelet throws away', async () => {
    const started = Promise.withResolvers<void>();
    const port = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      started.resolve();
    });
    const dial = new LoopbackDial();
    const { ask: begin, clock } = prober(dial);
    const asked = begin({ port, path: '/' });
    await started.promise;
    // The head has to arrive before the time is over.
    await new Promise((resolve) => dial.streams[0]?.once('data', resolve));
    await clock.advance(1_000);
    expect(await asked).toEqual({
      type: 'errored',
      state: 'failure',
      message: 'context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    });
    expect(dial.allDestroyed).toBe(true);
  });

  it('a body that breaks off likewise', async () => {
    const port = await say('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf');
    expect(await ask({ port, path: '/' })).toEqual({ type: 'errored', state: 'failure', message: 'unexpected EOF' });
  });
});
