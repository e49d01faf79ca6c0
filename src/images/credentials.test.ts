import { describe, expect, it } from 'vitest';
import type { Secret } from '../model/pod.ts';
import { credentialsFor, makeKeyring, PullSecretError } from './credentials.ts';
import { parseReference } from './reference.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function secret(auths: unknown, type = 'kubernetes.io/dockerconfigjson', name = 's'): Secret {
  const key = type === 'kubernetes.io/dockercfg' ? '.dockercfg' : '.dockerconfigjson';
  const content = typeof auths === 'string' ? auths : JSON.stringify(key === '.dockercfg' ? auths : { auths });
  return { metadata: { name, namespace: 'ns', uid: 'u' }, type, data: { [key]: base64(content) } };
}

function users(secrets: readonly Secret[], image: string): readonly (string | undefined)[] {
  return credentialsFor(makeKeyring(secrets), parseReference(image)).map(({ username }) => username);
}

describe('credentials of pull secrets', () => {
  it('reads both types of secret, plain and as auth field', () => {
    const json = secret({ 'x.io': { auth: base64('ann:p:w') } });
    const cfg = secret({ 'x.io': { username: 'bob', password: 'pw' } }, 'kubernetes.io/dockercfg');
    expect(credentialsFor(makeKeyring([json, cfg]), parseReference('x.io/a'))).toEqual([
      { registry: 'x.io', username: 'ann', password: 'p:w' },
      { registry: 'x.io', username: 'bob', password: 'pw' },
    ]);
  });

  it.each([
    ['x.io', 'x.io/a', true],
    ['x.io', 'y.io/a', false],
    ['https://x.io', 'x.io/a', true],
    ['http://x.io/v1/', 'x.io/a', true],
    ['https://x.io/v2/team', 'x.io/team/a', true],
    ['x.io/team', 'x.io/team/a', true],
    ['x.io/team', 'x.io/other/a', false],
    ['x.io:5000', 'x.io:5000/a', true],
    ['x.io', 'x.io:5000/a', false],
    ['x.io:5000', 'x.io/a', false],
    ['*.x.io', 'a.x.io/b', true],
    ['*.x.io', 'x.io/b', false],
    ['*.x.io', 'a.b.x.io/b', false],
    ['reg-?.x.io', 'reg-1.x.io/b', true],
    ['reg[0-3].x.io', 'reg2.x.io/b', true],
    ['reg[0-3].x.io', 'reg7.x.io/b', false],
    ['reg[.x.io', 'reg1.x.io/b', false],
    ['https://index.docker.io/v1/', 'busybox', true],
    ['https://index.docker.io/v1/', 'team/app', true],
    ['docker.io', 'busybox', true],
    ['docker.io/library', 'team/app', false],
    ['https://index.docker.io/v1/', 'x.io/a', false],
  ])('%s for %s: %s', (key, image, matches) => {
    expect(users([secret({ [key]: { username: 'u', password: 'p' } })], image)).toEqual(matches ? ['u'] : []);
  });

  it('tries the most specific key first, and keeps the order of secrets within a key', () => {
    const first = secret({
      'x.io': { username: 'host', password: 'p' },
      'x.io/team/a': { username: 'repo', password: 'p' },
    });
    const second = secret({
      'x.io': { username: 'host2', password: 'p' },
      'x.io/team': { username: 'team', password: 'p' },
    });
    expect(users([first, second], 'x.io/team/a/b')).toEqual(['repo', 'team', 'host', 'host2']);
  });

  it('takes other types, missing keys and entries without a name as nothing', () => {
    expect(users([secret({ 'x.io': { username: 'u' } }, 'Opaque')], 'x.io/a')).toEqual([]);
    expect(users([secret({ 'x.io': {} }), secret('{"auths":null}')], 'x.io/a')).toEqual([]);
  });

  it.each([
    ['not json', 'pull secret "s": .dockerconfigjson is not a Docker configuration'],
    ['{"auths":[1]}', 'pull secret "s": .dockerconfigjson is not a Docker configuration'],
    [
      JSON.stringify({ auths: { 'x.io': { auth: base64('nocolon') } } }),
      'pull secret "s": unable to parse auth field, must be formatted as base64(username:password)',
    ],
    [
      JSON.stringify({ auths: { 'x.io': { auth: '%%%' } } }),
      'pull secret "s": unable to parse auth field, must be formatted as base64(username:password)',
    ],
  ])('refuses %s without quoting it', (content, message) => {
    expect(() => makeKeyring([secret(content)])).toThrow(new PullSecretError(message));
  });
});
