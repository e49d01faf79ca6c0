import type Docker from 'dockerode';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { EngineCalls } from './calls.ts';
import { NodeNetwork } from './network.ts';

const { signal } = new AbortController();

/** An engine that has the node's network, with these containers on it, and refuses its removal so many times. */
function networkOf(containers: object, refusals: number) {
  const clock = new FakeClock();
  const asked = { removals: 0 };
  const remove = async (): Promise<void> => {
    if (++asked.removals <= refusals) throw Object.assign(new Error('has active endpoints'), { statusCode: 403 });
  };
  const docker = {
    listNetworks: async () => [{ Id: 'id', Name: 'outrigger_n' }],
    getNetwork: () => ({ inspect: async () => ({ Containers: containers }), remove }),
  } as unknown as Docker; // stands for the calls of the client that are made here
  const network = new NodeNetwork(docker, new EngineCalls(clock, 30_000), {
    nodeName: 'n',
    ownerLabels: {},
    signal,
    clock,
  });
  return { clock, asked, network };
}

describe('the network of a node that ends', () => {
  it('goes although a busy engine still counts a container that is gone', async () => {
    const { clock, asked, network } = networkOf({}, 2);
    const removal = network.removeIfUnused({ signal });
    await clock.advance(1_000);
    await removal;
    expect(asked.removals).toBe(3);
  });

  it('is given up after a moment when the engine goes on refusing', async () => {
    const { clock, asked, network } = networkOf({}, Number.POSITIVE_INFINITY);
    const removal = network.removeIfUnused({ signal });
    await clock.advance(10_000);
    await removal;
    expect(asked.removals).toBe(15);
  });

  it('stays while pods use it', async () => {
    const { asked, network } = networkOf({ pod: {} }, 0);
    await network.removeIfUnused({ signal });
    expect(asked.removals).toBe(0);
  });
});
