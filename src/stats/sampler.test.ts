import { describe, expect, it } from 'vitest';
import type { HostUsage, PodUsage, StatsFacet, StorageUsage } from '../../providers/contract/index.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { makeHostUsage, makePodUsage, makeStorage } from '../testing/stats-setup.ts';
import { Sampler } from './sampler.ts';
import { HOST_KEY, rateKey, SELF_KEY } from './view.ts';

class ScriptedFacet implements StatsFacet {
  readonly clock: FakeClock;
  asked = { usage: 0, storage: 0, host: 0 };
  failure: Error | undefined;
  hang = false;
  storageMs = 0;
  pods: readonly string[] = ['c'];

  constructor(clock: FakeClock) {
    this.clock = clock;
  }

  async usage({ signal }: { signal: AbortSignal }): Promise<readonly PodUsage[]> {
    this.asked.usage++;
    if (this.hang) await this.clock.sleep(1e9, { signal });
    if (this.failure !== undefined) throw this.failure;
    const timeMs = this.clock.now();
    // Half a core.
    const containers = this.pods.map((name) => ({ name, attempt: 0, timeMs, cpu: { usageNanos: timeMs * 500_000 } }));
    return [makePodUsage({ containers })];
  }

  async storage({ signal }: { signal: AbortSignal }): Promise<StorageUsage> {
    this.asked.storage++;
    if (this.storageMs > 0) await this.clock.sleep(this.storageMs, { signal });
    return makeStorage();
  }

  async host(): Promise<HostUsage> {
    this.asked.host++;
    const timeMs = this.clock.now();
    return makeHostUsage({ timeMs, cpu: { usageNanos: timeMs * 2_000_000 } });
  }
}

function start(configure: (facet: ScriptedFacet) => void = () => {}) {
  const clock = new FakeClock();
  const facet = new ScriptedFacet(clock);
  configure(facet);
  const abort = new AbortController();
  const lines: string[] = [];
  const log = {
    info: (_: unknown, text?: unknown) => lines.push(String(text)),
    warn: (_: unknown, text?: unknown) => lines.push(String(text)),
  };
  const self = () => ({ startedMs: 0, cpuNanos: clock.now() * 100_000, rssBytes: 5 });
  const sampler = new Sampler({ facet, self, clock, random: () => 0.5, log });
  const done = sampler.run({ signal: abort.signal });
  return { clock, facet, sampler, abort, done, lines };
}

const KEY = rateKey(makePodUsage().pod.uid, 'c', 0);

describe('the sampler', () => {
  it('measures every ten seconds, disks every minute, whether somebody looks or not', async () => {
    const { clock, facet, abort, done } = start();
    await clock.advance(0);
    expect(facet.asked).toEqual({ usage: 1, storage: 1, host: 1 });
    await clock.advance(60_000);
    expect(facet.asked).toEqual({ usage: 7, storage: 2, host: 7 });
    abort.abort();
    await done;
  });

  it('knows nothing at first, then levels, then rates', async () => {
    const { clock, sampler } = start();
    expect(sampler.latest()).toBeUndefined();
    await clock.advance(0);
    expect(sampler.latest()?.usage).toHaveLength(1);
    expect(sampler.latest()?.rate(KEY)).toBeUndefined();
    await clock.advance(10_000);
    const rate = sampler.latest()?.rate;
    expect([rate?.(KEY), rate?.(HOST_KEY), rate?.(SELF_KEY)]).toEqual([0.5e9, 2e9, 0.1e9]);
    expect(sampler.latest()?.storage?.imageBytes).toBe(123);
  });

  it('drops containers that are gone', async () => {
    const { clock, sampler, facet } = start();
    await clock.advance(20_000);
    facet.pods = [];
    await clock.advance(10_000);
    expect(sampler.latest()?.usage[0]?.containers).toEqual([]);
    expect(sampler.latest()?.rate(KEY)).toBeUndefined();
  });

  it('keeps what it knows for a minute when the backend cannot be asked, and says so once', async () => {
    const { clock, sampler, facet, lines } = start();
    await clock.advance(10_000);
    facet.failure = new Error('no engine');
    await clock.advance(50_000);
    expect(sampler.latest()?.usage).toHaveLength(1);
    await clock.advance(20_000);
    expect(sampler.latest()).toBeUndefined();
    expect(sampler.failure).toBe(facet.failure);
    expect(lines).toEqual(['backend cannot be measured']);
    facet.failure = undefined;
    await clock.advance(10_000);
    expect(sampler.latest()?.usage).toHaveLength(1);
    expect(lines).toEqual(['backend cannot be measured', 'backend is measured again']);
  });

  it('gives up on a call that does not come back', async () => {
    const { clock, sampler, facet, lines } = start((hanging) => {
      hanging.hang = true;
    });
    await clock.advance(30_000);
    expect(lines).toEqual(['backend cannot be measured']);
    facet.hang = false;
    await clock.advance(10_000);
    expect(sampler.latest()?.usage).toHaveLength(1);
  });

  it('gives up on one that does not even hear that it is over', async () => {
    const { clock, sampler, facet } = start((hanging) => {
      hanging.usage = () => new Promise(() => {});
    });
    await clock.advance(30_000);
    facet.usage = ScriptedFacet.prototype.usage;
    await clock.advance(10_000);
    expect(sampler.latest()?.usage).toHaveLength(1);
  });

  it('does not take old values for new ones because the clock is set back while the backend is away', async () => {
    const { clock, sampler, facet } = start();
    await clock.advance(0);
    facet.failure = new Error('no engine');
    clock.set(clock.now() - 3_600_000);
    await clock.advance(70_000);
    expect(sampler.latest()).toBeUndefined();
  });

  it('walks disks sooner for a container that is new, and not again for one of which the backend says nothing', async () => {
    const { clock, facet } = start();
    await clock.advance(25_000);
    facet.pods = ['c', 'new'];
    expect(facet.asked.storage).toBe(1);
    await clock.advance(5_000);
    expect(facet.asked.storage).toBe(2);
    await clock.advance(59_000);
    expect(facet.asked.storage).toBe(2);
    facet.pods = ['c'];
    await clock.advance(1_000);
    expect(facet.asked.storage).toBe(3);
    await clock.advance(1_000);
    facet.pods = ['c', 'newer'];
    // Though it is seen before.
    await clock.advance(8_000);
    expect(facet.asked.storage).toBe(3);
    await clock.advance(1_000);
    expect(facet.asked.storage).toBe(4);
  });

  it('walks disks the less often the longer that takes, and never makes anything wait for it', async () => {
    const { clock, facet, sampler } = start((slow) => {
      slow.storageMs = 30_000;
    });
    await clock.advance(20_000);
    expect(sampler.latest()?.usage).toHaveLength(1);
    expect(facet.asked.storage).toBe(1);
    await clock.advance(10_000 + 600_000 - 1);
    expect(facet.asked.storage).toBe(1);
    await clock.advance(1);
    expect(facet.asked.storage).toBe(2);
  });

  it('measures at once when asked to, together with whoever asks at the same time', async () => {
    const { clock, facet, sampler } = start();
    await clock.advance(5_000);
    const { signal } = new AbortController();
    await Promise.all([sampler.refresh({ signal }), sampler.refresh({ signal })]);
    expect(facet.asked.usage).toBe(2);
    expect(sampler.latest()?.usage[0]?.containers[0]?.timeMs).toBe(clock.now());
  });
});
