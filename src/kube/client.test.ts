import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { FakeKube, status, until } from '../testing/fake-kube.ts';
import { systemClock } from '../util/clock.ts';
import { ApiClient, type StreamCall } from './client.ts';
import { ApiUnreachable, KubeError } from './errors.ts';

const { signal } = new AbortController();

describe('ApiClient', () => {
  let kube: FakeKube;
  let client: ApiClient;
  beforeEach(async () => {
    kube = await FakeKube.start();
    client = new ApiClient({ credentials: kube.credentials, clock: systemClock });
  });
  afterEach(async () => {
    client.close();
    await kube.stop();
  });

  it('sends JSON with its content type and query, and gives the parsed answer back', async () => {
    kube.answer = () => ({ body: { hello: 'world' } });
    const answer = await client.request({
      method: 'PATCH',
      path: '/api/v1/pods',
      query: { limit: 5, continue: undefined, fieldSelector: 'a=b c' },
      body: { x: 'ü' },
      contentType: 'application/strategic-merge-patch+json',
      signal,
    });
    expect(answer).toEqual({ hello: 'world' });
    const [request] = kube.requests;
    expect(request?.headers['content-type']).toBe('application/strategic-merge-patch+json');
    expect(request?.body).toEqual({ x: 'ü' });
    expect(Object.fromEntries(request?.query ?? [])).toEqual({ limit: '5', fieldSelector: 'a=b c' });
  });

  it('turns a Status into a KubeError with reason and Retry-After', async () => {
    kube.answer = () => ({ ...status(429, 'TooManyRequests', 'slow down'), headers: { 'retry-after': '7' } });
    const error = await failure(client.request({ method: 'GET', path: '/x', signal }));
    expect(error).toBeInstanceOf(KubeError);
    expect(error).toMatchObject({
      status: 429,
      reason: 'TooManyRequests',
      message: 'slow down',
      retryAfterMs: 7000,
    });
  });

  it('does not wait a day because a proxy says so', async () => {
    kube.answer = () => ({ ...status(503, 'ServiceUnavailable'), headers: { 'retry-after': '86400' } });
    const error = await failure(client.request({ method: 'GET', path: '/x', signal }));
    expect(error).toMatchObject({ retryAfterMs: 60_000 });
  });

  it('says what a proxy said when the error is no Status', async () => {
    kube.answer = () => ({ status: 502, body: 'bad gateway' });
    const error = await failure(client.request({ method: 'GET', path: '/x', signal }));
    expect(error).toMatchObject({ status: 502, reason: '', message: '"bad gateway"' });
  });

  it('asks again at once when a kept connection was closed by the server meanwhile, except for a POST', async () => {
    let cut = false;
    kube.answer = () => {
      if (!cut) return { body: {} };
      cut = false;
      return 'cut';
    };
    await client.request({ method: 'GET', path: '/x', signal });
    cut = true;
    expect(await client.request({ method: 'PATCH', path: '/x', body: {}, signal })).toEqual({});
    cut = true;
    const post = failure(client.request({ method: 'POST', path: '/x', body: {}, signal }));
    expect(await post).toBeInstanceOf(ApiUnreachable);
    expect(kube.count('POST')).toBe(1);
  });

  it('rejects with the reason of the signal, before and during a request', async () => {
    const abort = new AbortController();
    kube.answer = () => 'silence';
    const pending = failure(client.request({ method: 'GET', path: '/x', signal: abort.signal }));
    await until(() => kube.requests.length === 1);
    const reason = new Error('stop');
    abort.abort(reason);
    expect(await pending).toBe(reason);
    expect(await failure(client.request({ method: 'GET', path: '/x', signal: abort.signal }))).toBe(reason);
  });

  it('gives up a request that nobody answers after its deadline', async () => {
    const clock = new FakeClock();
    const impatient = new ApiClient({ credentials: kube.credentials, clock });
    kube.answer = () => 'silence';
    const pending = failure(impatient.request({ method: 'GET', path: '/x', timeoutMs: 5000, signal }));
    await until(() => kube.requests.length === 1);
    await clock.advance(5000);
    expect(await pending).toBeInstanceOf(ApiUnreachable);
    impatient.close();
  });

  it('calls a refused connection unreachable', async () => {
    const gone = await FakeKube.start();
    const credentials = { ...gone.credentials, getCurrentCluster: () => ({ server: url }) };
    const url = gone.url;
    await gone.stop();
    const lost = new ApiClient({ credentials, clock: systemClock });
    expect(await failure(lost.request({ method: 'GET', path: '/x', signal }))).toBeInstanceOf(ApiUnreachable);
  });

  it('retries once, with new credentials, after a 401', async () => {
    let token = 'old';
    const rotating = new ApiClient({
      clock: systemClock,
      credentials: {
        getCurrentCluster: () => ({ server: kube.url }),
        applyToHTTPSOptions: async (options) => {
          // As client-node gives the content of a token file: with its newline.
          options.headers = { Authorization: `Bearer ${token}\n` };
        },
      },
    });
    kube.answer = ({ headers }) =>
      headers.authorization === 'Bearer new' ? { body: { ok: true } } : status(401, 'Unauthorized');
    expect(await failure(rotating.request({ method: 'GET', path: '/x', signal }))).toMatchObject({ status: 401 });
    expect(kube.requests).toHaveLength(1);
    token = 'new';
    expect(await rotating.request({ method: 'GET', path: '/x', signal })).toEqual({ ok: true });
    rotating.close();
  });

  it('puts the path prefix of the server in front', async () => {
    const prefixed = new ApiClient({
      clock: systemClock,
      credentials: { ...kube.credentials, getCurrentCluster: () => ({ server: `${kube.url}/k8s/c1` }) },
    });
    kube.answer = () => ({ body: {} });
    await prefixed.request({ method: 'GET', path: '/api/v1/nodes', signal });
    expect(kube.requests[0]?.path).toBe('/k8s/c1/api/v1/nodes');
    prefixed.close();
  });

  describe('stream', () => {
    const call: StreamCall = { path: '/watch', idleTimeoutMs: 90_000, signal };
    beforeEach(() => {
      kube.answer = () => 'watch';
    });

    it('gives whole lines however they are cut into chunks, and never a half one', async () => {
      const lines = collect(client.stream(call));
      const watch = await kube.nextWatch();
      for (const piece of ['{"a":', '"ü"}\n{"b"', ':1}\n\n{"c":2}\n', '{"half"']) {
        watch.raw(piece);
        await settle();
      }
      watch.end();
      expect(await lines).toEqual(['{"a":"ü"}', '{"b":1}', '{"c":2}']);
    });

    it('fails when the connection breaks', async () => {
      const lines = failure(collect(client.stream(call)));
      const watch = await kube.nextWatch();
      watch.raw('{"a":1}\n{"b');
      await settle();
      watch.cut();
      expect(await lines).toBeInstanceOf(ApiUnreachable);
    });

    it('destroys a connection that is silent for too long, counted from the last byte', async () => {
      const clock = new FakeClock();
      const watched = new ApiClient({ credentials: kube.credentials, clock });
      let bytes = 0;
      const lines = failure(collect(watched.stream({ ...call, onBytes: () => bytes++ })));
      const watch = await kube.nextWatch();
      await until(() => bytes === 1);
      await clock.advance(60_000);
      watch.raw('{}\n');
      await until(() => bytes === 2);
      await clock.advance(89_000);
      expect(watch.closed).toBe(false);
      await clock.advance(1_000);
      expect(await lines).toBeInstanceOf(ApiUnreachable);
      await until(() => watch.closed);
    });

    it('lets go of the connection when the consumer stops', async () => {
      const reading = (async () => {
        for await (const line of client.stream(call)) return line;
        return undefined;
      })();
      const watch = await kube.nextWatch();
      watch.raw('first\n');
      expect(await reading).toBe('first');
      await until(() => watch.closed);
    });

    it('reads no faster than its consumer', async () => {
      const lines = client.stream(call);
      const first = lines.next();
      const watch = await kube.nextWatch();
      const line = `${'x'.repeat(1024 * 1024)}\n`;
      let sent = 0;
      while (watch.raw(line) || sent < 3) {
        sent++;
        await settle();
        if (sent > 200) throw new Error('the client reads without being asked');
      }
      await first;
      await lines.return();
      await until(() => watch.closed);
    });

    it('rejects with the KubeError of a refused watch', async () => {
      kube.answer = () => status(410, 'Expired');
      expect(await failure(collect(client.stream(call)))).toMatchObject({ status: 410, reason: 'Expired' });
    });
  });
});

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    return { resolved: await promise };
  } catch (error) {
    return error;
  }
}

async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}
