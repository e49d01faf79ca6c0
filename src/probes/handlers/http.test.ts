import type { IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { describe, expect, it } from 'vitest';
import { makeContainer } from '../../testing/builders.ts';
import { makeAuthority } from '../../testing/certificates.ts';
import { accept, ask, failed, prober, say, serve, servers } from '../testing/http-servers.ts';
import { LoopbackDial, listen } from '../testing/loopback.ts';
import type { HttpGet } from './http.ts';

describe('the answer decides', () => {
  it.each([200, 204, 299])('%i is success', async (status) => {
    const port = await serve((_, response) => response.writeHead(status).end('fine'));
    expect(await ask({ port, path: '/' })).toEqual({ type: 'success' });
  });

  it.each([400, 404, 500, 503, 599])('%i is a failure that does not show the body', async (status) => {
    const port = await serve((_, response) => response.writeHead(status).end('secret'));
    expect(await ask({ port, path: '/' })).toEqual(failed(`HTTP probe failed with statuscode: ${status}`));
  });

  it('an informational answer before the real one is passed over', async () => {
    const port = await say('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    expect(await ask({ port, path: '/' })).toEqual({ type: 'success' });
  });

  it('switching protocols unasked is a failure', async () => {
    const port = await say('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
    expect(await ask({ port, path: '/' })).toEqual(failed('HTTP probe failed with statuscode: 101'));
  });

  it.each([
    ['304', 304, undefined],
    ['300 with a location', 300, '/x'],
    ['302 without a location', 302, undefined],
  ])('%s is a warning', async (_, status, location) => {
    const port = await serve((_request, response) => {
      response.writeHead(status, location === undefined ? {} : { location }).end();
    });
    expect(await ask({ port, path: '/' })).toEqual({
      type: 'warning',
      output: 'Probe terminated redirects, Response body: ',
    });
  });
});

describe('redirects (kubelet: RedirectChecker)', () => {
  it.each([301, 302, 303, 307, 308])(
    '%i on the same host is followed, with a connection of its own',
    async (status) => {
      const seen: IncomingMessage[] = [];
      const port = await serve((request, response) => {
        seen.push(request);
        if (request.url === '/a?x=1') response.writeHead(status, { location: 'b/../c?y=2' }).end();
        else response.writeHead(200).end();
      });
      const dial = new LoopbackDial();
      const get = { port, path: '/a?x=1', httpHeaders: [{ name: 'Host', value: 'my.host' }] };
      expect(await ask(get, dial)).toEqual({ type: 'success' });
      expect(seen.map(({ url, headers }) => [url, headers.host, headers.referer])).toEqual([
        ['/a?x=1', 'my.host', undefined],
        ['/c?y=2', 'my.host', `http://10.1.2.3:${port}/a?x=1`],
      ]);
      expect(dial.targets).toEqual([
        { to: 'pod', port },
        { to: 'pod', port },
      ]);
    },
  );

  it('to another port of the pod goes there', async () => {
    const second = await serve((_, response) => response.writeHead(404).end());
    const first = await serve((_, response) =>
      response.writeHead(302, { location: `http://10.1.2.3:${second}/x` }).end(),
    );
    expect(await ask({ port: first, path: '/' })).toEqual(failed('HTTP probe failed with statuscode: 404'));
  });

  it('to another host is a warning with the body, and nobody is asked there', async () => {
    const port = await serve((_, response) => response.writeHead(302, { location: 'http://0.0.0.0/' }).end('moved'));
    const dial = new LoopbackDial();
    expect(await ask({ port, path: '/' }, dial)).toEqual({
      type: 'warning',
      output: 'Probe terminated redirects, Response body: moved',
    });
    expect(dial.targets).toHaveLength(1);
  });

  it('without end is a failure after ten requests', async () => {
    const port = await serve((_, response) => response.writeHead(302, { location: '/again' }).end());
    const dial = new LoopbackDial();
    expect(await ask({ port, path: '/' }, dial)).toEqual(failed('Get "/again": stopped after 10 redirects'));
    expect(dial.targets).toHaveLength(10);
  });

  it('to another scheme on the same host is a failure', async () => {
    const port = await serve((_, response) => response.writeHead(302, { location: 'ftp://10.1.2.3/x' }).end());
    expect(await ask({ port, path: '/' })).toEqual(failed('Get "ftp://10.1.2.3/x": unsupported protocol scheme "ftp"'));
  });
});

describe('the request', () => {
  async function heard(get: Omit<HttpGet, 'port'>): Promise<IncomingMessage> {
    let seen: IncomingMessage | undefined;
    const port = await serve((request, response) => {
      seen = request;
      response.writeHead(200).end();
    });
    expect(await ask({ ...get, port })).toEqual({ type: 'success' });
    if (seen === undefined) throw new Error('nobody asked');
    return seen;
  }

  it('looks like that of the kubelet', async () => {
    const { method, url, httpVersion, rawHeaders, headers } = await heard({ path: '/healthz?full=1' });
    expect([method, url, httpVersion]).toEqual(['GET', '/healthz?full=1', '1.1']);
    expect(rawHeaders).toEqual([
      ...['Host', headers.host ?? '', 'User-Agent', 'kube-probe/1.36', 'Accept', '*/*', 'Connection', 'close'],
    ]);
    expect(headers.host).toMatch(/^10\.1\.2\.3:\d+$/);
  });

  it('carries the headers of the probe, repeated ones too', async () => {
    const httpHeaders = [
      { name: 'x-muffins-or-cupcakes', value: 'muffins' },
      { name: 'X-Muffins-Or-Cupcakes', value: 'cupcakes' },
      { name: 'user-agent', value: 'foo/1.0' },
      { name: 'accept', value: 'text/html' },
      { name: 'host', value: 'example.com' },
      { name: 'content-length', value: '7' },
      { name: 'X-Umlaut', value: 'ü' },
    ];
    const { rawHeaders } = await heard({ path: '/', httpHeaders });
    expect(rawHeaders).toEqual([
      ...['Host', 'example.com', 'User-Agent', 'foo/1.0', 'Accept', 'text/html'],
      ...['X-Muffins-Or-Cupcakes', 'muffins', 'X-Muffins-Or-Cupcakes', 'cupcakes'],
      ...['X-Umlaut', Buffer.from('ü').toString('latin1'), 'Connection', 'close'],
    ]);
  });

  it('has no Accept where the probe gives an empty one, and no User-Agent likewise', async () => {
    const httpHeaders = [
      { name: 'Accept', value: '' },
      { name: 'User-Agent', value: '' },
    ];
    const { rawHeaders } = await heard({ path: '/', httpHeaders });
    expect(rawHeaders.filter((_, i) => i % 2 === 0)).toEqual(['Host', 'Connection']);
  });

  it('cannot be smuggled into', async () => {
    const port = await serve((_, response) => response.end());
    const httpHeaders = [{ name: 'X', value: 'a\r\nY: b' }];
    expect(await ask({ port, path: '/', httpHeaders })).toEqual(
      failed(`Get "http://10.1.2.3:${port}/": net/http: invalid header field value for "X"`),
    );
  });

  it.each([
    ['a name of the container', 'web'],
    ['a number in quotes', 'number'],
  ])('goes to %s', async (_, kind) => {
    const number = await serve((_request, response) => response.end());
    const container = makeContainer('c', { ports: [{ name: 'web', containerPort: number }] });
    const port = kind === 'web' ? 'web' : String(number);
    expect(await prober().ask({ port, path: '/' }, container)).toEqual({ type: 'success' });
  });

  it('goes nowhere for a port that nobody has named', async () => {
    expect(await ask({ port: 'nosuch', path: '/' })).toEqual({
      type: 'errored',
      state: 'unknown',
      message: 'strconv.Atoi: parsing "nosuch": invalid syntax',
    });
  });

  it('goes to the host of the probe from the machine of the pod', async () => {
    const port = await serve((request, response) => response.writeHead(request.headers.host ? 200 : 500).end());
    const dial = new LoopbackDial();
    expect(await ask({ port, path: '/', host: 'other.example' }, dial)).toEqual({ type: 'success' });
    expect(dial.targets).toEqual([{ to: 'host', host: 'other.example', port }]);
  });
});

describe('HTTPS', () => {
  it('is taken whoever has signed; the name is sent unless it is an address', async () => {
    const authority = await makeAuthority('nobody');
    const { key, cert } = await authority.issue({ commonName: 'x', usage: 'server', expired: true });
    const names: unknown[] = [];
    const server = createTlsServer({
      key,
      cert,
      SNICallback: (name, done) => {
        names.push(name);
        done(null);
      },
    });
    server.on('request', (request, response) => {
      names.push(request.headers.host);
      response.end();
    });
    servers.push(server);
    const port = await listen(server);
    expect(await ask({ port, path: '/', scheme: 'HTTPS' })).toEqual({ type: 'success' });
    expect(await ask({ port, path: '/', scheme: 'HTTPS', host: 'a.example' })).toEqual({ type: 'success' });
    expect(names).toEqual([`10.1.2.3:${port}`, 'a.example', `a.example:${port}`]);
  });

  it('against a server without it', async () => {
    const port = await serve((_, response) => response.end());
    expect(await ask({ port, path: '/healthz', scheme: 'HTTPS' })).toEqual(
      failed(`Get "https://10.1.2.3:${port}/healthz": http: server gave HTTP response to HTTPS client`),
    );
  });

  it('against a server that hangs up', async () => {
    const port = await accept((socket) => socket.destroy());
    const { type, output } = (await ask({ port, path: '/', scheme: 'HTTPS' })) as { type: string; output: string };
    expect(type).toBe('failure');
    expect(output).toMatch(/^Get "https:\/\/10\.1\.2\.3:\d+\/": (EOF|read tcp .*: connection reset by peer)$/);
  });
});
