import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { initialState, nextState, type ProbeAnswer, type ProbeKind, type ProbeState, type ProbeStep } from './state.ts';

const KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];
const THRESHOLDS = { success: 1, failure: 3 };
const good: ProbeStep = { type: 'answer', answer: 'success' };
const bad: ProbeStep = { type: 'answer', answer: 'failure' };
const fresh: ProbeStep = { type: 'incarnation' };
const survived: ProbeStep = { type: 'incarnation', survived: true };

function stateAfter(kind: ProbeKind, steps: readonly ProbeStep[], thresholds = THRESHOLDS): ProbeState {
  return steps.reduce((state, step) => nextState(kind, thresholds, state, step), initialState(kind));
}

describe('the result of a probe (kubelet: prober/worker.go doProbe)', () => {
  it.each<[ProbeKind, string, readonly ProbeStep[], ProbeState['result'], boolean]>([
    ['readiness', 'before any answer', [], 'failure', false],
    ['liveness', 'before any answer', [], 'success', false],
    ['startup', 'before any answer', [], 'unknown', false],
    ['readiness', 'after a success', [good], 'success', false],
    ['readiness', 'after a success and two failures of three', [good, bad, bad], 'success', false],
    ['readiness', 'after a success and three failures', [good, bad, bad, bad], 'failure', false],
    ['readiness', 'after failures that were not in a row', [good, bad, bad, good, bad, bad], 'success', false],
    ['liveness', 'after two failures of three', [bad, bad], 'success', false],
    ['liveness', 'after three failures: nothing is asked any more', [bad, bad, bad], 'failure', true],
    ['liveness', 'on hold, whatever comes late', [bad, bad, bad, good], 'failure', true],
    ['liveness', 'of the next incarnation', [bad, bad, bad, fresh], 'success', false],
    ['liveness', 'of the next incarnation, which counts from zero', [bad, bad, fresh, bad, bad], 'success', false],
    ['startup', 'after a success: decided', [good], 'success', true],
    ['startup', 'after two failures of three', [bad, bad], 'unknown', false],
    ['startup', 'after three failures: decided', [bad, bad, bad], 'failure', true],
    ['startup', 'of the next incarnation', [good, fresh], 'unknown', false],
    ['readiness', 'of a container that ended', [good, { type: 'notRunning' }], 'failure', false],
    ['liveness', 'of a container that ended', [{ type: 'notRunning' }], 'success', false],
    ['startup', 'of a container that had started and ended', [good, { type: 'notRunning' }], 'success', true],
    ['readiness', 'of a survivor of a pod that was ready', [survived], 'success', false],
    ['readiness', 'of that survivor until enough answers say otherwise', [survived, bad, bad], 'success', false],
    ['readiness', 'of that survivor after enough failures', [survived, bad, bad, bad], 'failure', false],
    ['startup', 'of a survivor that had started', [survived], 'success', true],
    ['liveness', 'of a pod that is stopping', [bad, bad, bad, { type: 'stopping' }], 'success', true],
    ['startup', 'of a pod that is stopping', [{ type: 'stopping' }], 'success', true],
    ['readiness', 'of a pod that is stopping', [good, { type: 'stopping' }, bad], 'success', false],
  ])('%s %s', (kind, _, steps, result, held) => {
    const state = stateAfter(kind, steps);
    expect([state.result, state.held]).toEqual([result, held]);
  });

  it('needs as many successes in a row as the probe says', () => {
    const thresholds = { success: 3, failure: 1 };
    expect(stateAfter('readiness', [good, good], thresholds).result).toBe('failure');
    expect(stateAfter('readiness', [good, good, good], thresholds).result).toBe('success');
    expect(stateAfter('readiness', [good, good, bad, good, good], thresholds).result).toBe('failure');
  });
});

const answers = fc.array(fc.constantFrom<ProbeAnswer>('success', 'failure'), { maxLength: 40 });
const thresholds = fc.record({ success: fc.integer({ min: 1, max: 4 }), failure: fc.integer({ min: 1, max: 4 }) });

describe('whatever is answered', () => {
  it('readiness is what the last run of threshold length said', () => {
    fc.assert(
      fc.property(answers, thresholds, (given, limits) => {
        const steps = given.map((answer): ProbeStep => ({ type: 'answer', answer }));
        let expected: ProbeState['result'] = 'failure';
        for (const [i, answer] of given.entries()) {
          const from = i + 1 - limits[answer];
          if (from >= 0 && given.slice(from, i + 1).every((other) => other === answer)) expected = answer;
        }
        expect(stateAfter('readiness', steps, limits).result).toBe(expected);
      }),
    );
  });

  it('liveness is lost by a run of failures only, and then for good', () => {
    fc.assert(
      fc.property(answers, thresholds, (given, { failure }) => {
        const steps = given.map((answer): ProbeStep => ({ type: 'answer', answer }));
        const lost = given.join(' ').includes(Array(failure).fill('failure').join(' '));
        const state = stateAfter('liveness', steps, { success: 1, failure });
        expect([state.result, state.held]).toEqual(lost ? ['failure', true] : ['success', false]);
      }),
    );
  });

  it('a new incarnation starts from the beginning', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), answers, thresholds, (kind, given, limits) => {
        const steps = given.map((answer): ProbeStep => ({ type: 'answer', answer }));
        expect(stateAfter(kind, [...steps, fresh], limits)).toEqual(initialState(kind));
      }),
    );
  });
});
