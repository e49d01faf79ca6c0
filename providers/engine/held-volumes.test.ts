import type Docker from 'dockerode';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { encodeUnit } from '../shared/unit-labels.ts';
import { EngineCalls } from './calls.ts';
import { DetailsCache } from './details-cache.ts';
import type { Engine } from './engine.ts';
import { HeldVolumes } from './held-volumes.ts';
import { Observer } from './observer.ts';
import { PodVolumes } from './volumes.ts';

const options = { signal: new AbortController().signal };
const OWNER = { 'outrigger/node': 'n' };
const POD = { uid: 'u', name: 'p', namespace: 'ns' } as const;

/** An engine that has one volume of a pod and no containers, and answers a removal with `status`. */
function engineThatHolds(status: number) {
  const clock = new FakeClock();
  const said: string[] = [];
  const say = (_: object, text: string) => void said.push(text);
  const labels = encodeUnit({ kind: 'volume', pod: POD as never, volume: 'v' }, {}, OWNER);
  let present = true;
  const answer = { status };
  const docker = {
    listContainers: async () => [],
    listVolumes: async () => ({ Volumes: present ? [{ Name: 'held', Labels: labels }] : null }),
    getVolume: () => ({
      remove: async () => {
        if (answer.status >= 400) throw Object.assign(new Error('no'), { statusCode: answer.status });
        present = false;
      },
    }),
  };
  const engine: Engine = {
    docker: docker as unknown as Docker, // the three calls that are made here
    calls: new EngineCalls(clock, 30_000),
    context: {
      nodeName: 'n',
      ownerLabels: OWNER,
      clock,
      signal: options.signal,
      log: { debug: say, info: say, warn: say, error: say },
    },
  };
  const held = new HeldVolumes(clock);
  return {
    clock,
    said,
    answer,
    held,
    volumes: new PodVolumes(engine, held),
    observer: new Observer(engine, new DetailsCache(), held, { removeOrphans: async () => {} }),
  };
}

describe('a volume that the engine does not let go', () => {
  it('does not keep its pod from ending, and is told once', async () => {
    const { volumes, observer, said } = engineThatHolds(500);
    expect(await observer.list(options)).toHaveLength(1);
    await volumes.remove('held', options);
    expect(await observer.list(options)).toEqual([]);
    expect(said).toHaveLength(1);
  });

  it('is seen again after a while, or when the engine was restarted, so that it is removed in the end', async () => {
    const { volumes, observer, clock, answer, held } = engineThatHolds(500);
    await volumes.remove('held', options);
    await clock.advance(5 * 60_000);
    expect(await observer.list(options)).toHaveLength(1);
    await volumes.remove('held', options);
    expect(await observer.list(options)).toEqual([]);
    held.clear();
    expect(await observer.list(options)).toHaveLength(1);
    answer.status = 204;
    await volumes.remove('held', options);
    expect(await observer.list(options)).toEqual([]);
  });

  it('is no matter of an engine that cannot be asked', async () => {
    const { volumes, observer } = engineThatHolds(503);
    await expect(volumes.remove('held', options)).rejects.toMatchObject({ code: 'Unavailable' });
    expect(await observer.list(options)).toHaveLength(1);
  });
});
