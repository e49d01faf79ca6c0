import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { type DialFacet, ProviderError } from '../../../providers/contract/index.ts';
import { POD_UID } from '../../testing/builders.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { LoopbackDial, listen, oneSecond } from '../testing/loopback.ts';
import { Dialer } from './dialing.ts';
import { probeTcp } from './tcp.ts';

const pod = { host: '10.1.2.3', toHost: false };

function ask(dial: DialFacet, port: number, endpoint = pod, clock = new FakeClock()) {
  return probeTcp(new Dialer(dial, POD_UID), endpoint, port, oneSecond(clock));
}

it('a port that takes a connection is fine, and the connection is closed', async () => {
  const server = createServer();
  const port = await listen(server);
  const dial = new LoopbackDial();
  expect(await ask(dial, port)).toEqual({ type: 'success' });
  expect([dial.allDestroyed, dial.targets]).toEqual([true, [{ to: 'pod', port }]]);
  await new Promise((resolve) => server.close(resolve));
  expect(await ask(dial, port)).toEqual({
    type: 'failure',
    output: `dial tcp 10.1.2.3:${port}: connect: connection refused`,
  });
});

it.each([
  [
    { host: '127.0.0.1', toHost: true },
    'connect: connection refused',
    'dial tcp 127.0.0.1:81: connect: connection refused',
  ],
  [{ host: 'fd00::7', toHost: false }, 'connect: no route to host', 'dial tcp [fd00::7]:81: connect: no route to host'],
  [{ host: 'nosuch', toHost: true }, 'lookup nosuch: no such host', 'dial tcp: lookup nosuch: no such host'],
])('%j that is not there: %s', async (endpoint, message, output) => {
  const targets: unknown[] = [];
  const dial: DialFacet = {
    dial: (_, target) => {
      targets.push(target);
      return Promise.reject(new ProviderError('Unreachable', message));
    },
  };
  expect(await ask(dial, 81, endpoint)).toEqual({ type: 'failure', output });
  expect(targets).toEqual([endpoint.toHost ? { to: 'host', host: endpoint.host, port: 81 } : { to: 'pod', port: 81 }]);
});

it('nobody who answers is a failure after the time-out', async () => {
  const clock = new FakeClock();
  const asked = ask({ dial: () => new Promise(() => undefined) }, 81, pod, clock);
  await clock.advance(1_000);
  expect(await asked).toEqual({ type: 'failure', output: 'dial tcp 10.1.2.3:81: i/o timeout' });
});

it('a failure of our own blames nobody', async () => {
  const error = new ProviderError('Internal', 'connect EMFILE');
  expect(await ask({ dial: () => Promise.reject(error) }, 81)).toEqual({
    type: 'errored',
    state: 'unknown',
    message: 'connect EMFILE',
  });
});

it('a backend that is away says nothing', async () => {
  const error = new ProviderError('Unavailable', 'gone');
  expect(await ask({ dial: () => Promise.reject(error) }, 81)).toEqual({ type: 'away', error });
});
