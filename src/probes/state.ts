/** Which question a probe answers. */
export type ProbeKind = 'startup' | 'readiness' | 'liveness';

/** What others see of a probe. `unknown`: a startup probe that has not decided yet. */
type ProbeResult = 'success' | 'failure' | 'unknown';

export type ProbeAnswer = 'success' | 'failure';

/** One probe of one incarnation of a container. */
export interface ProbeState {
  readonly result: ProbeResult;
  /** The last answer, and how many in a row were the same. */
  readonly last: ProbeAnswer | undefined;
  readonly run: number;
  /** Decided for this incarnation: nothing is asked until the next one (reference 4.3). */
  readonly held: boolean;
}

export interface Thresholds {
  readonly success: number;
  readonly failure: number;
}

export type ProbeStep =
  /**
   * Another incarnation is judged anew (reference 4.2.4). `survived`: it was running before this process, and the API server has
   * this for `started` (startup) or for the Ready condition of the pod (readiness), which stays until there is an answer (4.8).
   */
  | { readonly type: 'incarnation'; readonly survived?: boolean }
  | { readonly type: 'notRunning' }
  | { readonly type: 'stopping' }
  | { readonly type: 'answer'; readonly answer: ProbeAnswer };

const INITIAL: Readonly<Record<ProbeKind, ProbeResult>> = {
  startup: 'unknown',
  readiness: 'failure',
  liveness: 'success',
};

export function initialState(kind: ProbeKind): ProbeState {
  return { result: INITIAL[kind], last: undefined, run: 0, held: false };
}

/** The same object when nothing changes. Rules: reference 4.2 and 4.3 (kubelet: prober/worker.go). */
export function nextState(kind: ProbeKind, thresholds: Thresholds, state: ProbeState, step: ProbeStep): ProbeState {
  switch (step.type) {
    case 'incarnation': {
      const fresh = initialState(kind);
      if (step.survived !== true || kind === 'liveness') return fresh;
      // A container that has started is never asked whether it has.
      return { ...fresh, result: 'success', held: kind === 'startup' };
    }
    case 'notRunning':
      // A liveness probe has nothing to say of a container that has ended: its result would kill one that the backend lost sight of
      // for a moment. What a startup probe decided stands.
      return kind === 'readiness' ? withResult(state, 'failure') : state;
    case 'stopping':
      return kind === 'readiness' ? state : { ...withResult(state, 'success'), held: true };
    case 'answer':
      return answered(kind, thresholds, state, step.answer);
  }
}

function answered(kind: ProbeKind, thresholds: Thresholds, state: ProbeState, answer: ProbeAnswer): ProbeState {
  if (state.held) return state;
  const run = state.last === answer ? state.run + 1 : 1;
  if (run < thresholds[answer]) return { ...state, last: answer, run };
  const decided = kind === 'startup' || (kind === 'liveness' && answer === 'failure');
  return { result: answer, last: answer, run: decided ? 0 : run, held: decided };
}

function withResult(state: ProbeState, result: ProbeResult): ProbeState {
  return state.result === result ? state : { ...state, result };
}
