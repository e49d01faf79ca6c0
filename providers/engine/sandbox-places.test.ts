import type Docker from 'dockerode';
import { describe, expect, it } from 'vitest';
import { FakeClock, settle } from '../../src/testing/fake-clock.ts';
import type { PodUid, ProviderHint } from '../contract/index.ts';
import { encodeUnit } from '../shared/unit-labels.ts';
import { EngineCalls } from './calls.ts';
import { SandboxPlaces } from './sandbox-places.ts';

const options = { signal: new AbortController().signal };
const uid = 'u' as PodUid; // here UIDs are born

function sandbox(id: string, attempt: number, ip: string, overrides: object = {}): object {
  const pod = { uid, namespace: 'n', name: 'p' };
  return {
    Id: id,
    State: 'running',
    Names: [`/outrigger_POD_p_u_${attempt}`],
    Labels: encodeUnit({ kind: 'sandbox', pod, attempt }, {}, {}),
    HostConfig: { NetworkMode: 'n' },
    NetworkSettings: { Networks: { n: { IPAddress: ip, GlobalIPv6Address: '' } } },
    ...overrides,
  };
}

function engineWith(present: object[]) {
  const asked = { times: 0 };
  const docker = {
    listContainers: async () => {
      asked.times++;
      return present;
    },
  } as unknown as Docker; // stands for the calls of the client that are made here
  const clock = new FakeClock();
  const say = (): void => {};
  const log = { debug: say, info: say, warn: say, error: say };
  const context = { nodeName: 'n', ownerLabels: {}, log, clock, signal: options.signal };
  return {
    asked,
    present,
    places: new SandboxPlaces({ docker, calls: new EngineCalls(clock, 30_000), context }, async () => '192.0.2.1'),
  };
}

describe('where a pod is', () => {
  it('is where its newest running sandbox is', async () => {
    const { places } = engineWith([sandbox('old', 0, '10.0.0.2'), sandbox('new', 1, '10.0.0.3')]);
    expect(await places.find(uid, options)).toEqual({ uid, sandboxId: 'new', ips: ['10.0.0.3'] });
  });

  it.each([
    ['nothing', []],
    ['a sandbox that has stopped', [sandbox('a', 0, '', { State: 'exited' })]],
    ['a sandbox that is being prepared', [sandbox('a', 0, '10.0.0.2', { Names: ['/outrigger_PREPARE_p_u_0'] })]],
    ['a sandbox without an address', [sandbox('a', 0, '')]],
  ])('is nowhere when there is %s', async (_, present) => {
    await expect(engineWith(present).places.find(uid, options)).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('is asked each time while nobody tells of changes', async () => {
    const { asked, places } = engineWith([sandbox('a', 0, '10.0.0.2')]);
    await places.find(uid, options);
    await places.find(uid, options);
    expect(asked.times).toBe(2);
  });

  it('is remembered until a change is told, the pod is let go, or nobody tells any more', async () => {
    const { asked, places } = engineWith([sandbox('a', 0, '10.0.0.2')]);
    const hints = Promise.withResolvers<ProviderHint>();
    async function* tell(): AsyncGenerator<ProviderHint, void, undefined> {
      yield { type: 'resync' };
      yield await hints.promise;
    }
    const followed = places.follow(tell());
    expect((await followed.next()).value).toEqual({ type: 'resync' });
    const next = followed.next();
    await places.find(uid, options);
    await places.find(uid, options);
    expect(asked.times).toBe(1);
    hints.resolve({ type: 'pod', uid });
    await next;
    await places.find(uid, options);
    await places.find(uid, options);
    expect(asked.times).toBe(2);
    places.forget(uid);
    await places.find(uid, options);
    expect(asked.times).toBe(3);
    await followed.return();
    await settle();
    await places.find(uid, options);
    expect(asked.times).toBe(4);
  });
});
