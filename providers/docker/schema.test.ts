import { describe, expect, it } from 'vitest';
import { engineAddress, parseConfig } from './schema.ts';

describe('configuration of the docker provider', () => {
  it('needs nothing', () => {
    const config = parseConfig(undefined);
    expect(config.sandboxImage).toBe('registry.k8s.io/pause:3.10.2');
    expect(engineAddress(config)).toEqual({ type: 'socket', path: '/var/run/docker.sock' });
  });

  it.each([
    [{ host: 'h' }, 2375],
    [{ host: 'h', tls: {} }, 2376],
    [{ host: 'h', port: 1 }, 1],
  ])('finds an engine on TCP: %j', (raw, port) => {
    expect(engineAddress(parseConfig(raw))).toMatchObject({ type: 'tcp', host: 'h', port });
  });

  it.each([
    [{ sokcet: 'x' }, 'sokcet'],
    [{ socketPath: '/x', host: 'h' }, 'exclude each other'],
    [{ port: 1 }, 'need a host'],
    [{ host: 'h', tls: { certFile: 'c' } }, 'belong together'],
    [{ nodeAddress: 'not-an-address' }, 'nodeAddress'],
    [{ requestTimeoutSeconds: 0 }, 'requestTimeoutSeconds'],
    [{ sandboxImage: '../../x' }, 'must be the name of an image'],
    [{ sandboxImage: 'a//b' }, 'must be the name of an image'],
  ])('is refused with the place of the mistake: %j', (raw, words) => {
    expect(() => parseConfig(raw)).toThrow(words);
  });
});
