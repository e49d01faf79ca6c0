import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { UsageError } from '../util/errors.ts';
import { loadKubeConfig } from './kubeconfig.ts';

describe('loadKubeConfig', () => {
  let directory: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
    file = join(directory, 'config');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const write = (user: object = { token: 't' }, cluster: object = {}): void => {
    const config = {
      'current-context': 'main',
      clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:6443/', ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [
        { name: 'main', context: { cluster: 'c', user: 'u' } },
        { name: 'other', context: { cluster: 'c', user: 'nobody' } },
      ],
    };
    writeFileSync(file, stringify(config));
  };
  const headers = async (): Promise<unknown> => {
    const options: https.RequestOptions = {};
    await loadKubeConfig({ file }).applyToHTTPSOptions(options);
    return options.headers;
  };

  it('takes the current context', async () => {
    write();
    expect(loadKubeConfig({ file }).getCurrentCluster()?.server).toBe('https://127.0.0.1:6443');
    expect(await headers()).toEqual({ Authorization: 'Bearer t' });
  });

  it('reads a token file at every need, relative to the kubeconfig', async () => {
    write({ tokenFile: 'token' });
    writeFileSync(join(directory, 'token'), 'one');
    expect(await headers()).toEqual({ Authorization: 'Bearer one' });
    writeFileSync(join(directory, 'token'), 'two');
    expect(await headers()).toEqual({ Authorization: 'Bearer two' });
  });

  it.each<[string, () => void, string | undefined, RegExp]>([
    ['a file that is missing', () => {}, undefined, /^--kubeconfig .*config: ENOENT/],
    ['a file that is no YAML', () => writeFileSync(file, '{'), undefined, /^--kubeconfig .*config: /],
    ['a file that is no kubeconfig', () => writeFileSync(file, 'hello'), undefined, /not a kubeconfig/],
    ['an empty file', () => writeFileSync(file, '{}'), undefined, /current-context is not set/],
    ['an unknown context', write, 'nope', /^--context nope: not in .*config \(it has: main, other\)$/],
    ['a context whose user is missing', write, 'other', /context "other": its user is not in the file/],
    ['a missing certificate', () => write({ 'client-certificate': 'x.crt' }), undefined, /ENOENT.*x\.crt/],
    ['a server without TLS', () => write({}, { server: 'http://a' }), undefined, /server "http:\/\/a" is plain http/],
    ['a server that is no URL', () => write({}, { server: 'example' }), undefined, /server "example" is not/],
  ])('names flag and value for %s', (_title, prepare, context, message) => {
    prepare();
    const load = (): unknown => loadKubeConfig(context === undefined ? { file } : { file, context });
    expect(load).toThrow(UsageError);
    expect(load).toThrow(message);
    expect(load).not.toThrow(/\n/);
  });

  it('says so when there is neither a file nor a cluster around', () => {
    expect(() => loadKubeConfig({})).toThrow(
      /^--kubeconfig is not set, and this process does not run inside a cluster/,
    );
  });
});
