import { describe, expect, it } from 'vitest';
import { type HostReport, ProviderError } from '../../providers/contract/index.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { HOST } from '../testing/fake-node-objects.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { RuntimeHealth } from './health.ts';
import type { HostSource } from './ports.ts';

type Answer = () => Promise<HostReport>;

function setUp(): {
  clock: FakeClock;
  health: RuntimeHealth;
  answer: (next: Answer) => void;
  changes: () => number;
  asked: () => number;
  lines: string[];
  stop: AbortController;
} {
  const clock = new FakeClock();
  const stop = new AbortController();
  let changes = 0;
  let asked = 0;
  let current: Answer = async () => HOST;
  const provider: HostSource = {
    traits: { network: { subnet: 'unused' } },
    describeHost: () => {
      asked++;
      return current();
    },
  };
  const lines: string[] = [];
  const health = new RuntimeHealth({ provider, clock, log: recordedLog(lines), onChange: () => changes++ });
  void health.run({ signal: stop.signal }); // ends with the test
  return {
    clock,
    health,
    answer: (next) => {
      current = next;
    },
    changes: () => changes,
    asked: () => asked,
    lines,
    stop,
  };
}

const refuse: Answer = () => Promise.reject(new ProviderError('Unavailable', 'connect ECONNREFUSED'));
const hang: Answer = () => new Promise(() => {});

describe('the health of the backend', () => {
  it('is up after the first answer and asked for every five seconds', async () => {
    const { clock, health, changes, asked, stop } = setUp();
    expect(health.state).toEqual({ status: 'unchecked' });
    await clock.advance(0);
    expect(health.state).toEqual({ status: 'up' });
    expect(health.report).toBe(HOST);
    await clock.advance(10_000);
    expect({ changes: changes(), asked: asked() }).toEqual({ changes: 1, asked: 3 });
    stop.abort();
  });

  it('survives one failed call, is down at the second, and up again with the first good one', async () => {
    const { clock, health, answer, changes, stop } = setUp();
    await clock.advance(1_000);
    answer(refuse);
    await clock.advance(4_000);
    expect(health.state).toEqual({ status: 'up' });
    await clock.advance(1_000);
    expect(health.state).toEqual({ status: 'down', reason: 'Unavailable', message: 'connect ECONNREFUSED' });
    expect(health.report).toBe(HOST);
    await clock.advance(60_000);
    answer(async () => HOST);
    await clock.advance(1_000);
    expect(health.state).toEqual({ status: 'up' });
    expect(changes()).toBe(3);
    stop.abort();
  });

  it('says when an outage begins and when it ends, and nothing of a single failed call', async () => {
    const { clock, answer, lines, stop } = setUp();
    await clock.advance(0);
    answer(refuse);
    await clock.advance(5_000);
    answer(async () => HOST);
    await clock.advance(5_000);
    expect(lines).toEqual([]);
    answer(refuse);
    await clock.advance(10_000);
    answer(async () => HOST);
    await clock.advance(1_000);
    expect(lines).toEqual(['warn backend cannot be asked', 'info backend answers again']);
    stop.abort();
  });

  it('takes silence for an outage only after thirty seconds', async () => {
    const { clock, health, answer, stop } = setUp();
    await clock.advance(0);
    answer(hang);
    await clock.advance(5_000 + 29_000);
    expect(health.state).toEqual({ status: 'up' });
    await clock.advance(5_000);
    expect(health.state).toMatchObject({ status: 'down', message: 'the backend did not answer within 10 s' });
    stop.abort();
  });

  it('tells of a report that changed', async () => {
    const { clock, health, answer, changes, stop } = setUp();
    await clock.advance(0);
    const grown = { ...HOST, runtimeVersion: '30.0.0' };
    answer(async () => grown);
    await clock.advance(5_000);
    expect({ report: health.report, changes: changes() }).toEqual({ report: grown, changes: 2 });
    stop.abort();
  });

  it('asks no more after the end', async () => {
    const { clock, asked, stop } = setUp();
    await clock.advance(0);
    stop.abort();
    await clock.advance(60_000);
    expect(asked()).toBe(1);
  });
});
