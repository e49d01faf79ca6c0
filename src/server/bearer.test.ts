import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { headerToken, protocolToken, removeTokens } from './bearer.ts';

const PREFIX = 'base64url.bearer.authorization.k8s.io.';
const encoded = (token: string): string => PREFIX + Buffer.from(token).toString('base64url');

const websocket = (protocols?: string, others: IncomingHttpHeaders = {}) => ({
  headers: {
    connection: 'keep-alive, Upgrade',
    upgrade: 'websocket',
    ...(protocols !== undefined && { 'sec-websocket-protocol': protocols }),
    ...others,
  },
});

describe('a token in the Authorization header', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['  Bearer abc  ', 'abc'],
    ['Bearer abc def', 'abc'],
  ])('%j is %j', (authorization, token) => {
    expect(headerToken({ headers: { authorization } })).toEqual({ type: 'token', token });
  });

  it.each([[undefined], [''], ['Bearer'], ['Bearer '], ['Bearer  abc'], ['Basic abc'], ['abc']])(
    '%j is none',
    (text) => {
      const headers = text === undefined ? {} : { authorization: text };
      expect(headerToken({ headers })).toEqual({ type: 'none' });
    },
  );
});

describe('a token among the subprotocols of a WebSocket', () => {
  it('is read beside another one', () => {
    for (const protocols of [`v5.channel.k8s.io, ${encoded('ab?~c')}`, `${encoded('ab?~c')},v4.channel.k8s.io`]) {
      expect(protocolToken(websocket(protocols))).toEqual({ type: 'token', token: 'ab?~c' });
    }
  });

  it('counts in a WebSocket only', () => {
    const protocols = `v5.channel.k8s.io, ${encoded('t')}`;
    expect(protocolToken(websocket(protocols, { upgrade: 'SPDY/3.1' }))).toEqual({ type: 'none' });
    expect(protocolToken(websocket(protocols, { connection: 'close' }))).toEqual({ type: 'none' });
    expect(protocolToken(websocket(protocols, { upgrade: 'WebSocket', connection: 'upgrade' }))).toMatchObject({
      type: 'token',
    });
  });

  it('is none without one, or an empty one', () => {
    expect(protocolToken(websocket())).toEqual({ type: 'none' });
    expect(protocolToken(websocket('v5.channel.k8s.io'))).toEqual({ type: 'none' });
    expect(protocolToken(websocket(`v5.channel.k8s.io,${PREFIX}`))).toEqual({ type: 'none' });
  });

  it.each([
    [`v5, ${encoded('a')}, ${encoded('b')}`, 'multiple base64.bearer.authorization tokens specified'],
    [encoded('a'), 'missing additional subprotocol'],
    [`v5, ${PREFIX}YQ==`, 'invalid base64.bearer.authorization token encoding'],
    [`v5, ${PREFIX}Y`, 'invalid base64.bearer.authorization token encoding'],
    [`v5, ${PREFIX}a+b/`, 'invalid base64.bearer.authorization token encoding'],
    [`v5, ${PREFIX}__8`, 'invalid base64.bearer.authorization token'],
  ])('%s is broken', (protocols, message) => {
    expect(protocolToken(websocket(protocols))).toEqual({ type: 'broken', message });
  });
});

it('a request that was let in carries no token any more', () => {
  const request = websocket(`v5.channel.k8s.io, ${encoded('t')}, v4.channel.k8s.io`, { authorization: 'Bearer t' });
  removeTokens(request);
  expect(request.headers).toEqual({
    connection: 'keep-alive, Upgrade',
    upgrade: 'websocket',
    'sec-websocket-protocol': 'v5.channel.k8s.io, v4.channel.k8s.io',
  });
  const only = websocket(encoded('t'));
  removeTokens(only);
  expect(only.headers).not.toHaveProperty('sec-websocket-protocol');
});
