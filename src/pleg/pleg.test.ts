import { describe, expect, it } from 'vitest';
import { type ObservedPod, type PodUid, ProviderError, type ProviderHint } from '../../providers/contract/index.ts';
import { makeObservedContainer, makeObservedPod, POD_UID, running } from '../testing/builders.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { Pleg } from './pleg.ts';

function harness() {
  const clock = new FakeClock();
  const backend = new Map<PodUid, ObservedPod>();
  const notified: PodUid[] = [];
  const state: {
    listError?: Error;
    beforeList?: Promise<void>;
    watchError?: Error;
    hangs?: boolean;
    lists: number;
    watches: number;
  } = {
    lists: 0,
    watches: 0,
  };
  const lines: string[] = [];
  const hints: ProviderHint[] = [];
  let wakeHint = (): void => undefined;
  const stop = new AbortController();
  const pleg = new Pleg({
    clock,
    random: () => 0,
    log: recordedLog(lines),
    notify: (uid) => notified.push(uid),
    provider: {
      // The PLEG reads only this one trait.
      traits: { relistIntervalMs: 10_000 } as never,
      list: async () => {
        state.lists++;
        if (state.listError) throw state.listError;
        const answer = [...backend.values()];
        await state.beforeList;
        return answer;
      },
      inspect: (uid) => (state.hangs ? new Promise(() => {}) : Promise.resolve(backend.get(uid))),
      async *watch({ signal }) {
        state.watches++;
        while (!signal.aborted) {
          if (state.watchError) throw state.watchError;
          const hint = hints.shift();
          if (hint) yield hint;
          else
            await new Promise<void>((resolve) => {
              wakeHint = resolve;
              signal.addEventListener('abort', () => resolve(), { once: true });
            });
        }
      },
    },
  });
  const hint = (next: ProviderHint): void => {
    hints.push(next);
    wakeHint();
  };
  return { clock, backend, notified, state, pleg, stop, hint, lines };
}

const pod = makeObservedPod({ containers: [makeObservedContainer('c', running())] });

describe('the PLEG', () => {
  it('notifies of new, changed and vanished pods only', async () => {
    const { clock, backend, notified, pleg, stop } = harness();
    backend.set(POD_UID, pod);
    const run = pleg.run({ signal: stop.signal });
    await pleg.synced;
    expect(notified).toEqual([POD_UID]);
    await clock.advance(10_000);
    expect(notified).toHaveLength(1);
    backend.delete(POD_UID);
    await clock.advance(10_000);
    expect(notified).toHaveLength(2);
    expect(pleg.get(POD_UID)?.pod).toBeUndefined();
    stop.abort();
    await run;
  });

  it('inspects on a hint, without waiting for a relist', async () => {
    const { backend, notified, pleg, stop, hint, state } = harness();
    const run = pleg.run({ signal: stop.signal });
    await pleg.synced;
    backend.set(POD_UID, pod);
    hint({ type: 'pod', uid: POD_UID });
    await settle();
    expect(notified).toEqual([POD_UID]);
    expect(state.lists).toBe(1);
    stop.abort();
    await run;
  });

  it('changes nothing while the backend cannot be asked, and turns unhealthy after three minutes (reference 16.1)', async () => {
    const { clock, backend, pleg, stop, state } = harness();
    backend.set(POD_UID, pod);
    const run = pleg.run({ signal: stop.signal });
    await pleg.synced;
    state.listError = new ProviderError('Unavailable', 'gone');
    backend.clear();
    await clock.advance(170_000);
    expect(pleg.get(POD_UID)?.pod).toEqual(pod);
    expect(pleg.health().healthy).toBe(true);
    await clock.advance(20_000);
    expect(pleg.health().healthy).toBe(false);
    delete state.listError;
    await clock.advance(10_000);
    expect(pleg.health().healthy).toBe(true);
    expect(pleg.get(POD_UID)?.pod).toBeUndefined();
    stop.abort();
    await run;
  });

  it('keeps nothing of a pod whose last hint comes after it was forgotten', async () => {
    const { pleg, stop, hint } = harness();
    const run = pleg.run({ signal: stop.signal });
    await pleg.synced;
    hint({ type: 'pod', uid: POD_UID });
    await settle();
    expect(pleg.get(POD_UID)).toBeUndefined();
    stop.abort();
    await run;
  });

  it('believes the newer answer also when the clock was set back', async () => {
    const { clock, backend, pleg, stop } = harness();
    await pleg.refresh(POD_UID, { signal: stop.signal });
    clock.set(clock.now() - 86_400_000);
    backend.set(POD_UID, pod);
    await pleg.refresh(POD_UID, { signal: stop.signal });
    expect(pleg.get(POD_UID)?.pod).toEqual(pod);
  });

  it('lists when the hints are heard again after a break', async () => {
    const { clock, pleg, stop, hint, state } = harness();
    const run = pleg.run({ signal: stop.signal });
    await pleg.synced;
    state.watchError = new ProviderError('Unavailable', 'cut');
    hint({ type: 'pod', uid: POD_UID });
    await clock.advance(500);
    expect(state.lists).toBe(1);
    delete state.watchError;
    await clock.advance(1_000);
    expect(state.lists).toBe(2);
    stop.abort();
    await run;
  });

  it('says once that no hints come, and asks for them ever more seldom', async () => {
    const { clock, pleg, stop, hint, state, lines } = harness();
    const run = pleg.run({ signal: stop.signal });
    await pleg.synced;
    state.watchError = new ProviderError('Internal', 'no events');
    hint({ type: 'pod', uid: POD_UID });
    await clock.advance(60_000);
    expect(state.watches).toBeLessThan(12);
    expect(lines.filter((line) => line.endsWith('hints ended')).slice(0, 2)).toEqual([
      'warn hints ended',
      'debug hints ended',
    ]);
    expect(lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);
    stop.abort();
    await run;
  });

  it('leaves an outage to the list to tell', async () => {
    const { clock, pleg, stop, hint, state, lines } = harness();
    const run = pleg.run({ signal: stop.signal });
    await pleg.synced;
    state.watchError = state.listError = new ProviderError('Unavailable', 'the engine is away');
    hint({ type: 'pod', uid: POD_UID });
    await clock.advance(60_000);
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual(['warn backend cannot be listed']);
    stop.abort();
    await run;
  });

  it('gives a question up that a hanging backend never answers', async () => {
    const { clock, pleg, stop, state } = harness();
    state.hangs = true;
    const asked = expect(pleg.refresh(POD_UID, { signal: stop.signal })).rejects.toMatchObject({ code: 'Unavailable' });
    await clock.advance(120_000);
    await asked;
  });

  it('does not let a slow list undo a newer inspection', async () => {
    const { clock, backend, pleg, stop, state } = harness();
    const run = pleg.run({ signal: stop.signal });
    await pleg.synced;
    const gate = Promise.withResolvers<void>();
    state.beforeList = gate.promise;
    await clock.advance(10_000); // this list has read the empty backend and hangs
    await clock.advance(1);
    backend.set(POD_UID, pod);
    await pleg.refresh(POD_UID, { signal: stop.signal });
    gate.resolve();
    await settle();
    expect(pleg.get(POD_UID)?.pod).toEqual(pod);
    stop.abort();
    await run;
  });
});
