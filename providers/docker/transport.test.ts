import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { connect } from './transport.ts';

// docker-modem prints the options of every request for its debug log, also when nobody reads it: `showHidden`, without a limit of depth.
// Measured with 30 pods at once: nine tenths of the processor time of the whole program.
describe('the agent of a connection to the engine', () => {
  it.each([
    { type: 'socket', path: '/var/run/docker.sock' },
    { type: 'tcp', host: '127.0.0.1', port: 2375, tls: undefined },
    { type: 'tcp', host: '127.0.0.1', port: 2376, tls: {} },
  ] as const)('is printed in a word, not with all its sockets: $type $port', async (address) => {
    const { docker, disconnect } = await connect(address);
    const { agent } = docker.modem as unknown as { agent: object }; // the types leave it out
    expect(inspect({ agent }, { showHidden: true, depth: null }).length).toBeLessThan(60);
    disconnect();
  });
});
