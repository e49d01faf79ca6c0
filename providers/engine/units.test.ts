import type Docker from 'dockerode';
import { expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { EngineCalls } from './calls.ts';
import type { Engine } from './engine.ts';
import { removeByForce } from './units.ts';

const { signal } = new AbortController();

/** An engine that knows nothing but how the removal of a container goes. */
function engineWith(clock: FakeClock, remove: () => Promise<void>): Engine {
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const context = { nodeName: 'n', ownerLabels: {}, log, clock, signal };
  // Stands for the one call of the client that is made here.
  const docker = { getContainer: () => ({ remove }) } as unknown as Docker;
  return { docker, calls: new EngineCalls(clock, 30_000), context };
}

const inProgress = Object.assign(new Error('removal of container c is already in progress'), { statusCode: 409 });

it('waits for a removal that is in progress already', async () => {
  const clock = new FakeClock();
  let asked = 0;
  const engine = engineWith(clock, async () => {
    if (++asked < 3) throw inProgress;
  });
  const removal = removeByForce(engine, 'c', { signal });
  await clock.advance(200);
  await removal;
  expect(asked).toBe(3);
});

it('does not wait for ever: a removal that the engine never finishes is a failure that somebody hears of', async () => {
  const clock = new FakeClock();
  const removal = removeByForce(
    engineWith(clock, () => Promise.reject(inProgress)),
    'c',
    { signal },
  );
  const failed = expect(removal).rejects.toMatchObject({ code: 'Internal', message: inProgress.message });
  for (let seconds = 0; seconds < 60; seconds++) await clock.advance(1_000);
  await failed;
});
