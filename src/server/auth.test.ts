import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../testing/fake-clock.ts';
import type { AccessPolicy, User } from './auth.ts';
import { type AccessAttributes, checkAccess } from './auth.ts';

const { signal } = new AbortController();
const ALICE: User = { name: 'alice', groups: ['dev'] };

function request(url: string, headers: Record<string, string> = {}, method = 'GET'): IncomingMessage {
  // The few fields that are looked at; certificates are tested with a real server.
  return { url, headers, method, socket: {} } as unknown as IncomingMessage;
}

/** Every door as the configuration would open it widest, unless a test says otherwise. */
function policy(overrides: Partial<AccessPolicy> = {}) {
  const asked: (AccessAttributes & { readonly user: User })[] = [];
  const reviewed: string[] = [];
  const all: AccessPolicy = {
    clock: new FakeClock(),
    authorize: (user, attributes) => {
      asked.push({ user, ...attributes });
      return Promise.resolve(true);
    },
    reviewToken: (token) => {
      reviewed.push(token);
      return Promise.resolve(token === 'good' ? ALICE : undefined);
    },
    ...overrides,
  };
  return { asked, reviewed, check: (message: IncomingMessage) => checkAccess(message, all, { signal }) };
}

const UNAUTHORIZED = { type: 'refused', code: 401, body: 'Unauthorized' };
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe('who asks', () => {
  it('is nobody without credentials', async () => {
    const { check, asked } = policy();
    expect(await check(request('/pods'))).toEqual(UNAUTHORIZED);
    expect(asked).toEqual([]);
  });

  it('is whom the API server knows by the token, as one of the authenticated', async () => {
    const { check, asked } = policy();
    const message = request('/pods', bearer('good'));
    expect(await check(message)).toMatchObject({ type: 'granted', user: { name: 'alice' } });
    expect(asked[0]?.user.groups).toEqual(['dev', 'system:authenticated']);
    expect(message.headers.authorization).toBeUndefined();
  });

  it('is nobody with a token that the API server does not know, or cannot be asked about', async () => {
    expect(await policy().check(request('/pods', bearer('bad')))).toEqual(UNAUTHORIZED);
    const cause = new Error('no API server');
    const { check } = policy({ reviewToken: () => Promise.reject(cause), anonymous: true });
    expect(await check(request('/pods', bearer('good')))).toEqual({ ...UNAUTHORIZED, cause });
  });

  it('is nobody with a token where tokens are not looked at', async () => {
    const { reviewToken: _none, ...rest } = { ...policyOf(), anonymous: false };
    expect(await checkAccess(request('/pods', bearer('good')), rest, { signal })).toEqual(UNAUTHORIZED);
  });

  it('comes by a subprotocol too, in a WebSocket', async () => {
    const protocol = `base64url.bearer.authorization.k8s.io.${Buffer.from('good').toString('base64url')}`;
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-protocol': `v5, ${protocol}` };
    const { check, reviewed } = policy();
    const message = request('/exec/ns/p/c', headers);
    expect(await check(message)).toMatchObject({ type: 'granted' });
    expect(reviewed).toEqual(['good']);
    expect(message.headers['sec-websocket-protocol']).toBe('v5');
    const broken = { ...headers, 'sec-websocket-protocol': protocol };
    expect(await policy({ anonymous: true }).check(request('/exec/ns/p/c', broken))).toEqual(UNAUTHORIZED);
  });

  it('is anonymous only where that is allowed, and only without any credential', async () => {
    const { check, asked } = policy({ anonymous: true });
    expect(await check(request('/pods'))).toMatchObject({ type: 'granted' });
    expect(asked[0]?.user).toEqual({ name: 'system:anonymous', groups: ['system:unauthenticated'] });
    expect(await check(request('/pods', bearer('bad')))).toEqual(UNAUTHORIZED);
  });
});

function policyOf(): AccessPolicy {
  return { clock: new FakeClock(), authorize: () => Promise.resolve(true), reviewToken: () => Promise.resolve(ALICE) };
}

describe('what is allowed', () => {
  const PATHS = [
    '/pods',
    '/metrics',
    '/metrics/resource',
    '/stats/summary',
    '/logs/x',
    '/exec/ns/p/c',
    '/configz',
    '/healthz',
    '/nothing',
  ];

  it.each<[string, AccessPolicy['authorize']]>([
    ['an authorizer that knows nobody', () => Promise.resolve(false)],
    ['an authorizer that cannot be reached', () => Promise.reject(new Error('away'))],
    // What a fault in our own code would look like.
    ['an authorizer that answers nonsense', () => Promise.resolve(undefined as unknown as boolean)],
    [
      'an authorizer that breaks',
      () => {
        throw new TypeError('x');
      },
    ],
  ])('%s opens nothing', async (_name, authorize) => {
    const { check } = policy({ authorize, anonymous: true });
    for (const headers of [{}, bearer('good')]) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
        for (const path of PATHS) expect((await check(request(path, headers, method))).type).toBe('refused');
      }
    }
  });

  it('is asked for one subresource after the other, and all are named when all are refused', async () => {
    const asked: AccessAttributes[] = [];
    const { check } = policy({
      authorize: (_user, attributes) => {
        asked.push(attributes);
        return Promise.resolve(false);
      },
    });
    expect(await check(request('/pods', bearer('good')))).toEqual({
      type: 'refused',
      code: 403,
      body: 'Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    });
    expect(await check(request('/containerLogs/ns/p/c', bearer('good'), 'POST'))).toEqual({
      type: 'refused',
      code: 403,
      body: 'Forbidden (user=alice, verb=create, resource=nodes, subresource(s)=[proxy])\n',
    });
    expect(asked).toEqual([
      { verb: 'get', subresource: 'pods' },
      { verb: 'get', subresource: 'proxy' },
      { verb: 'create', subresource: 'proxy' },
    ]);
  });

  it('is enough by one of them', async () => {
    const { check } = policy({ authorize: (_user, { subresource }) => Promise.resolve(subresource === 'proxy') });
    expect(await check(request('/pods', bearer('good')))).toMatchObject({ type: 'granted' });
    expect(await check(request('/metrics', bearer('good')))).toMatchObject({ code: 403 });
  });

  it('with rights on metrics only is metrics only', async () => {
    const { check } = policy({ authorize: (_user, { subresource }) => Promise.resolve(subresource === 'metrics') });
    const open = [];
    for (const path of PATHS) if ((await check(request(path, bearer('good')))).type === 'granted') open.push(path);
    expect(open).toEqual(['/metrics', '/metrics/resource']);
  });

  it.each(['http://node/logs/', '//node/logs/', '/metrics#/../logs/', '/\\logs/', '*', '', 'logs/', '/logs\\x'])(
    'of the target %j is nothing: rules and routes might read it differently',
    async (url) => {
      const { check, asked } = policy();
      expect(await check(request(url, bearer('good')))).toEqual({ type: 'refused', code: 400, body: 'Bad Request' });
      expect(await check(request(url))).toEqual(UNAUTHORIZED);
      expect(asked).toEqual([]);
    },
  );
});
